/* SPDX-License-Identifier: MIT
 *
 * What is a text in JSON must be a text of the command, too.
 */
#include "params.h"

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "need.h"
#include "text.h"

/* Each one is looked for among all: of very many, one request would hold all others up. */
#define PAIRS_MAX 64

static size_t count_pairs(const char *query)
{
    size_t n = 1;
    for (; *query; query++)
        n += *query == '&';
    return n;
}

struct cJSON *params_of_query(const char *query)
{
    struct evkeyvalq pairs;
    if (!query || !*query)
        return need(cJSON_CreateObject());
    if (count_pairs(query) > PAIRS_MAX || evhttp_parse_query_str(query, &pairs) != 0)
        return NULL;
    cJSON *params = need(cJSON_CreateObject());
    for (const struct evkeyval *p = pairs.tqh_first; p; p = p->next.tqe_next) {
        cJSON *before = cJSON_GetObjectItemCaseSensitive(params, p->key);
        if (!before) {
            need(cJSON_AddStringToObject(params, p->key, p->value));
            continue;
        }
        if (!cJSON_IsArray(before)) {
            cJSON *list = need(cJSON_CreateArray());
            cJSON_AddItemToArray(list, cJSON_DetachItemFromObjectCaseSensitive(params, p->key));
            cJSON_AddItemToObject(params, p->key, list);
            before = list;
        }
        cJSON_AddItemToArray(before, need(cJSON_CreateString(p->value)));
    }
    evhttp_clear_headers(&pairs);
    return params;
}

/* cJSON ends a text at a NUL, so what is behind it would be lost without a word. */
static bool has_nul(const char *text, size_t len)
{
    bool is_escaped = false;
    for (size_t i = 0; i < len; i++) {
        if (is_escaped && len - i >= 5 && strncmp(text + i, "u0000", 5) == 0)
            return true;
        is_escaped = !is_escaped && text[i] == '\\';
    }
    return memchr(text, '\0', len);
}

/* ---- names that are not UTF-8 ---- */

#define BASE64 "_base64"

static bool decode(cJSON *item)
{
    size_t len;
    char *text = cJSON_IsString(item) ? text_of_base64(item->valuestring, &len) : NULL;
    bool is_good = text && strlen(text) == len; /* without a NUL */
    if (is_good)
        strcpy(item->valuestring, text); /* it is shorter */
    free(text);
    return is_good;
}

/* What stands as "queue_base64" in an answer may stand so here: it becomes `queue`. False: it is no base64 of a text. */
static bool decode_names(cJSON *object)
{
    cJSON *member, *each;
    cJSON_ArrayForEach(member, object)
    {
        size_t len = strlen(member->string);
        if (len <= strlen(BASE64) || strcmp(member->string + len - strlen(BASE64), BASE64) != 0)
            continue;
        if (!cJSON_IsArray(member) && !decode(member))
            return false;
        cJSON_ArrayForEach(each, member) if (!decode(each)) return false;
        member->string[len - strlen(BASE64)] = '\0';
    }
    return true;
}

struct cJSON *params_of_body(struct evhttp_request *request)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    size_t len = evbuffer_get_length(body);
    if (len == 0)
        return need(cJSON_CreateObject());
    const char *text = (const char *)evbuffer_pullup(body, -1), *end = NULL;
    if (!text_is_utf8(text, len) || has_nul(text, len))
        return NULL;
    cJSON *object = cJSON_ParseWithLengthOpts(text, len, &end, false);
    while (object && end < text + len && strchr(" \t\r\n", *end))
        end++;
    if (object && cJSON_IsObject(object) && end == text + len && decode_names(object))
        return object;
    cJSON_Delete(object);
    return NULL;
}

bool params_are_json(struct evhttp_request *request)
{
    const char *type = evhttp_find_header(evhttp_request_get_input_headers(request), "Content-Type");
    return type && strncasecmp(type, "application/json", strlen("application/json")) == 0;
}
