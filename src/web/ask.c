/* SPDX-License-Identifier: MIT
 *
 * Runs a verb for a request, and makes the answer of its rows and words.
 */
#include "ask.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <muster/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "complain.h"
#include "json_value.h"
#include "need.h"
#include "out.h"
#include "parse.h"
#include "text.h"

/* Operands, and values of options, of one request: a hundred tags and a thousand jobs to wait for, and more. */
#define WORDS_MAX 1200
#define COUNT_DEFAULT 50
#define COUNT_MAX 500
/* Of an answer in pages. One row may be longer. */
#define PAGE_BYTES_MAX ((size_t)4 * 1024 * 1024)

struct ask *ask_new(const struct route *route, struct cJSON *params)
{
    struct ask *a = need(calloc(1, sizeof *a));
    a->route = route;
    a->params = params ? params : need(cJSON_CreateObject());
    a->items = need(cJSON_CreateArray());
    a->notes = need(cJSON_CreateArray());
    return a;
}

void ask_free(struct ask *a)
{
    for (size_t i = 0; i < ASK_STARS_MAX; i++)
        free(a->stars[i]);
    for (size_t i = 0; i < a->n_texts; i++)
        free(a->texts[i]);
    free(a->texts);
    cJSON_Delete(a->params);
    cJSON_Delete(a->items);
    cJSON_Delete(a->whole);
    cJSON_Delete(a->notes);
    free(a->error);
    free(a->message);
    free(a);
}

void ask_refuse(struct ask *a, int status, const char *error, const char *message)
{
    free(a->error);
    free(a->message);
    a->status = status;
    a->error = need(strdup(error));
    a->message = need(strdup(message));
}

bool ask_is_change(const struct ask *a)
{
    return strcmp(a->route->method, "POST") == 0;
}

/* ---- parameters ---- */

static const char *keep(struct ask *a, char *text)
{
    need(text);
    if (!a->texts)
        a->texts = need(calloc(WORDS_MAX, sizeof *a->texts));
    if (a->n_texts == WORDS_MAX) {
        free(text);
        ask_refuse(a, 400, "E_INVALID", "there are too many parameters");
        return "";
    }
    return a->texts[a->n_texts++] = text;
}

void ask_refuse_param(struct ask *a, const char *name, const char *why)
{
    char *text = NULL;
    if (asprintf(&text, "%s %s", name, why) < 0)
        need(NULL);
    ask_refuse(a, 400, "E_INVALID", text);
    free(text);
}

/* For an option, or NULL: a name. NULL: it can be no value, and is refused. */
static const char *text_of(struct ask *a, const struct opt *o, const char *name, const cJSON *value)
{
    char number[JSON_NUMBER_SIZE];
    const char *why, *text = json_value_text(o, value, number, &why);
    if (!text)
        ask_refuse_param(a, name, why);
    return text == number ? keep(a, strdup(number)) : text;
}

static const char *param_for(struct ask *a, const struct opt *o, const char *name)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(a->params, name);
    return value && !cJSON_IsNull(value) ? text_of(a, o, name, value) : NULL;
}

const char *ask_param(struct ask *a, const char *name)
{
    return param_for(a, NULL, name);
}

bool ask_has(const struct ask *a, const char *name)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(a->params, name);
    return value && !cJSON_IsNull(value);
}

int64_t ask_number(struct ask *a, const char *name, int64_t fallback, int64_t most)
{
    static const struct opt count = {.kind = OPT_COUNT};
    const char *text = param_for(a, &count, name), *end = text;
    int64_t number;
    if (!text)
        return fallback;
    if (text_read_number(&end, &number) && !*end && number <= most)
        return number;
    ask_refuse_param(a, name, "must be a number of 0 or more");
    return fallback;
}

/* ---- words of the verb ---- */

struct words {
    const struct command *verb;
    char *operands[WORDS_MAX];
    size_t n_operands;
    struct parse_value values[WORDS_MAX];
    size_t n_values;
};

static void add_value(struct ask *a, struct words *w, const char *name, const char *text)
{
    if (w->n_values == WORDS_MAX)
        ask_refuse(a, 400, "E_INVALID", "there are too many parameters");
    else
        w->values[w->n_values++] = (struct parse_value){name, text};
}

static void add_operand(struct ask *a, struct words *w, const char *text)
{
    if (w->n_operands == WORDS_MAX)
        ask_refuse(a, 413, "E_TOO_BIG", "there are too many of them in one request");
    else
        w->operands[w->n_operands++] = (char *)text;
}

/* `name` NULL: an operand. */
static void add(struct ask *a, struct words *w, const char *name, char sign, const char *text)
{
    char *signed_text = NULL;
    if (sign && asprintf(&signed_text, "%c%s", sign, text) < 0)
        need(NULL);
    if (signed_text)
        text = keep(a, signed_text);
    if (name)
        add_value(a, w, name, text);
    else
        add_operand(a, w, text);
}

static void add_param(struct ask *a, struct words *w, const char *name, char sign, const char *param)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(a->params, param), *each;
    const struct opt *o = name ? opt_find(w->verb->options, name) : NULL;
    if (!cJSON_IsArray(value) || (o && o->kind != OPT_LIST)) { /* an empty list would pass for nothing */
        const char *text = param_for(a, o, param);
        if (text)
            add(a, w, name, sign, text);
        return;
    }
    cJSON_ArrayForEach(each, value)
    {
        const char *text = text_of(a, o, param, each);
        if (text)
            add(a, w, name, sign, text);
    }
}

/* What stands behind `opt=`, or an operand. */
static void add_source(struct ask *a, struct words *w, const char *name, const char *source)
{
    char sign = *source == '+' || *source == '-' ? *source++ : '\0';
    if (*source == '$')
        add(a, w, name, sign, a->stars[source[1] - '0']);
    else if (*source == '?')
        add_param(a, w, name, sign, source + 1);
    else
        add(a, w, name, sign, source + 1);
}

bool ask_flag(struct ask *a, const char *name)
{
    static const struct opt count = {.kind = OPT_COUNT};
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(a->params, name);
    if (!value || cJSON_IsNull(value) || cJSON_IsBool(value))
        return cJSON_IsTrue(value);
    char number[JSON_NUMBER_SIZE];
    const char *why, *text = json_value_text(&count, value, number, &why);
    bool is_on = text && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
    if (!is_on && !(text && (strcmp(text, "0") == 0 || strcmp(text, "false") == 0)))
        ask_refuse_param(a, name, "must be true or false");
    return is_on;
}

static void add_flag(struct ask *a, struct words *w, const char *name, const char *param)
{
    if (!param || ask_flag(a, param))
        add_value(a, w, name, NULL);
}

static void add_word(struct ask *a, struct words *w, char *word)
{
    char *equals = strchr(word, '='), *question = strchr(word, '?');
    if (*word == '$' || *word == '?' || *word == ':') {
        add_source(a, w, NULL, word);
    } else if (equals) {
        *equals = '\0';
        add_source(a, w, word, equals + 1);
    } else {
        if (question)
            *question = '\0';
        add_flag(a, w, word, question ? question + 1 : NULL);
    }
}

/* ---- running ---- */

static const struct {
    int exit, status;
} statuses[] = {
    {EXIT_USAGE, 400}, {EXIT_NOT_FOUND, 404}, {EXIT_NO_REDIS, 503}, {EXIT_UNCONFIRMED, 502},
    {EXIT_BUSY, 503},  {EXIT_DENIED, 403},    {EXIT_TIMEOUT, 503},
};

static int status_of(int code)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].exit == code)
            return statuses[i].status;
    return 409;
}

/* Advice for a shell is none for a browser. */
static void cut_advice(char *message)
{
    char *advice = strstr(message, "; see `muster ");
    if (advice)
        *advice = '\0';
}

/* The parameter that becomes this option of the verb; NULL: none does. */
static const char *param_of(const char *args, const char *option, size_t len, size_t *param_len)
{
    for (const char *word = args; *word; word += strcspn(word, " "), word += *word == ' ') {
        size_t source = len + strspn(word + len * (strncmp(word, option, len) == 0), "=+-");
        if (strncmp(word, option, len) != 0 || !strchr("=?", word[len]) || word[source] != '?')
            continue;
        *param_len = strcspn(word + source + 1, " ");
        return word + source + 1;
    }
    return NULL;
}

/* The verb's words name its options; who asks here knows parameters. */
static char *with_params(const struct ask *a, const char *message)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = need(open_memstream(&text, &size));
    for (const char *at = message; *at;) {
        bool begins = *at == '-' && (at == message || strchr(" ('`", at[-1]));
        size_t dashes = begins ? strspn(at, "-") : 0, len = 0, n = 0;
        while (dashes > 0 && (isalpha((unsigned char)at[dashes + len]) || (len > 0 && at[dashes + len] == '-')))
            len++;
        const char *param = len > 0 ? param_of(a->args, at + dashes, len, &n) : NULL;
        if (param)
            fwrite(param, 1, n, out);
        else
            fputc(*at, out);
        at += param ? dashes + len : 1;
    }
    fclose(out);
    return need(text);
}

/* Words may hold the bytes of a name. */
static char *as_utf8(const char *message)
{
    size_t len = strlen(message);
    return text_is_utf8(message, len) ? need(strdup(message)) : text_printable(message, len, SIZE_MAX);
}

static void hear(const char *error, const char *message, void *arg)
{
    struct ask *a = arg;
    char *named = with_params(a, message), *words = as_utf8(named);
    free(named);
    if (!error) {
        cJSON_AddItemToArray(a->notes, need(cJSON_CreateString(words)));
    } else if (!a->error) { /* the first one is the cause */
        a->error = need(strdup(error));
        a->message = words;
        words = NULL;
        cut_advice(a->message);
    }
    free(words);
}

/* For a page, what is not there is a list without rows: it may have gone since the page was opened. */
static bool is_empty_list(const struct ask *a, int code)
{
    return code == EXIT_NOT_FOUND && !ask_is_change(a) && a->route->shape != ASK_ONE;
}

static void note_refusal(struct ask *a)
{
    cJSON_AddItemToArray(a->notes, need(cJSON_CreateString(a->message ? a->message : "")));
    free(a->error);
    free(a->message);
    a->error = a->message = NULL;
}

/* Whoever asks here has no --timeout, and may not know that a change can be done without an answer. */
static void set_status(struct ask *a, int code)
{
    bool is_asked = code == EXIT_TIMEOUT && a->route->method && a->message;
    char *advice = is_asked ? strstr(a->message, "; wait longer with --timeout") : NULL, *text = NULL;
    a->status = status_of(code);
    if (!advice)
        return;
    *advice = '\0';
    if (asprintf(&text, "%s; %s", a->message, ask_is_change(a) ? COMPLAIN_MAY_BE_DONE : "try again") < 0)
        need(NULL);
    free(a->message);
    a->message = text;
}

void ask_refuse_error(struct ask *a, int err)
{
    if (err == MUSTER_OK)
        return;
    a->args = a->route->args;
    complain_to(hear, a);
    int code = complain_error(a->like, err, muster_client_error(a->client));
    complain_to(NULL, NULL);
    set_status(a, code);
}

int ask_run_verb(struct ask *a, const struct command *verb, const char *args)
{
    struct words *w = need(calloc(1, sizeof *w));
    w->verb = verb;
    struct call call = {.command = verb};
    char *copy = need(strdup(args)), *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        add_word(a, w, word);
    call.operands = w->operands;
    call.n_operands = w->n_operands;
    a->args = args;
    client_lend(a->client);
    complain_to(hear, a);
    if (a->row_fn)
        out_collect_by(a->row_fn, a->row_arg);
    else
        out_collect(a->items);
    int code = a->status ? EXIT_USAGE : parse_values(&call, a->like, w->values, w->n_values);
    if (!code)
        code = verb->run(&call);
    out_collect(NULL);
    complain_to(NULL, NULL);
    client_lend(NULL);
    parse_clear(&call);
    free(copy);
    free(w);
    if (is_empty_list(a, code) && !a->status) {
        note_refusal(a);
        return EXIT_DONE;
    }
    if (code && !a->status)
        set_status(a, code);
    return code;
}

/* One row more than was asked for tells whether there are more. */
static void ask_for_page(struct ask *a)
{
    int64_t n = ask_number(a, "count", COUNT_DEFAULT, INT64_MAX);
    a->from = (size_t)ask_number(a, "cursor", 0, INT64_MAX / 2);
    if (n < 1)
        ask_refuse_param(a, "count", "must be a number of 1 or more");
    a->size = n < 1 ? 1 : n > COUNT_MAX ? COUNT_MAX : (size_t)n;
    if (a->route->shape != ASK_PAGE)
        return;
    cJSON_DeleteItemFromObjectCaseSensitive(a->params, "count");
    if (!cJSON_AddNumberToObject(a->params, "count", (double)a->size + 1))
        need(NULL);
}

/* A parameter that would have no effect may be a mistake. */
static void say_unknown(struct ask *a, const char *name)
{
    char *text = NULL, *shown = text_printable(name, strlen(name), 60);
    if (asprintf(&text, "there is no parameter '%s' here; see doc/api.md", shown) < 0)
        need(NULL);
    free(shown);
    ask_refuse(a, 400, "E_INVALID", text);
    free(text);
}

static void refuse_unknown(struct ask *a)
{
    const cJSON *param;
    cJSON_ArrayForEach(param, a->params)
    {
        size_t len = strlen(param->string);
        const char *at = strstr(a->route->args, param->string);
        while (at && !((at > a->route->args && at[-1] == '?') && (at[len] == ' ' || !at[len])))
            at = strstr(at + 1, param->string);
        if (!len || !at) {
            say_unknown(a, param->string);
            return;
        }
    }
}

void ask_refuse_twice(struct ask *a, const struct cJSON *object)
{
    const char *twice = json_value_twice(object);
    char *shown = twice ? text_printable(twice, strlen(twice), 60) : NULL;
    if (shown)
        ask_refuse_param(a, shown, "is there more than once");
    free(shown);
}

void ask_run(struct ask *a)
{
    refuse_unknown(a);
    ask_refuse_twice(a, a->params);
    ask_for_page(a);
    if (a->status)
        ;
    else if (a->route->run)
        a->route->run(a);
    else
        (void)ask_run_verb(a, a->route->verb, a->route->args);
    if (!a->status)
        a->status = 200;
}

/* ---- the answer ---- */

char *ask_error_text(const char *error, const char *message)
{
    cJSON *object = need(cJSON_CreateObject());
    need(cJSON_AddStringToObject(object, "error", error));
    need(cJSON_AddStringToObject(object, "message", message));
    char *text = need(cJSON_PrintUnformatted(object));
    cJSON_Delete(object);
    return text;
}

/* The texts of a row, which is nearly all of it. */
static size_t bytes_of(const cJSON *item)
{
    const cJSON *each;
    size_t n = item->valuestring ? strlen(item->valuestring) : 0;
    cJSON_ArrayForEach(each, item) n += bytes_of(each);
    return n;
}

/* How many rows the answer has room for: one at least, so that whoever goes on comes to the end. */
static size_t rows_with_room(const cJSON *items)
{
    size_t n = 0, bytes = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, items)
    {
        bytes += bytes_of(row);
        if (n > 0 && bytes > PAGE_BYTES_MAX)
            break;
        n++;
    }
    return n;
}

static void cut_rows(cJSON *items, size_t n)
{
    while ((size_t)cJSON_GetArraySize(items) > n)
        cJSON_DeleteItemFromArray(items, (int)n);
}

static void add_page(struct ask *a, cJSON *object)
{
    bool has_pages = a->route->shape == ASK_PAGE && !a->is_whole;
    size_t n = (size_t)cJSON_GetArraySize(a->items), room = has_pages ? rows_with_room(a->items) : n;
    size_t kept = has_pages && a->size < room ? a->size : room;
    if (kept < n) {
        char next[32];
        cut_rows(a->items, kept);
        snprintf(next, sizeof next, "%zu", a->from + kept);
        need(cJSON_AddStringToObject(object, "next", next));
    } else {
        need(cJSON_AddNullToObject(object, "next"));
    }
    if (has_pages && kept < a->size && kept < n)
        need(cJSON_AddStringToObject(object, "cut", "the rows are long: go on with the cursor `next`"));
    need(cJSON_AddNullToObject(object, "total"));
}

static double count_done(const struct ask *a)
{
    double n = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, a->items)
    {
        const cJSON *count = a->route->count ? cJSON_GetObjectItemCaseSensitive(row, a->route->count) : NULL;
        n += a->route->count ? (count ? count->valuedouble : 0) : 1;
    }
    return n;
}

static cJSON *take_items(struct ask *a)
{
    cJSON *items = a->items;
    a->items = need(cJSON_CreateArray());
    return items;
}

static cJSON *take_whole(struct ask *a)
{
    cJSON *whole = a->whole;
    a->whole = NULL;
    return whole;
}

static cJSON *answer(struct ask *a)
{
    if (a->whole)
        return take_whole(a);
    if (a->route->shape == ASK_ONE)
        return cJSON_GetArraySize(a->items) > 0 ? cJSON_DetachItemFromArray(a->items, 0) : need(cJSON_CreateObject());
    cJSON *object = need(cJSON_CreateObject());
    if (a->route->shape == ASK_DONE)
        need(cJSON_AddNumberToObject(object, "done", count_done(a)));
    else
        add_page(a, object);
    if (!cJSON_AddItemToObject(object, "items", take_items(a)))
        need(NULL);
    if (cJSON_GetArraySize(a->notes) > 0 && !cJSON_AddItemReferenceToObject(object, "notes", a->notes))
        need(NULL);
    return object;
}

/* What was done before something failed is told, too. */
char *ask_text(struct ask *a)
{
    bool has_failed = a->status != 200;
    if (has_failed && (a->route->shape != ASK_DONE || count_done(a) == 0))
        return ask_error_text(a->error ? a->error : "E_REDIS", a->message ? a->message : "it failed");
    cJSON *object = answer(a);
    if (has_failed && a->error) {
        a->status = a->status == 502 ? 502 : 200; /* all of it was done, but may be lost */
        need(cJSON_AddStringToObject(object, "error", a->error));
        need(cJSON_AddStringToObject(object, "message", a->message));
    }
    char *text = need(cJSON_PrintUnformatted(object));
    cJSON_Delete(object);
    return text;
}
