/* SPDX-License-Identifier: MIT
 *
 * Reads a job's spec from a line of JSON. Each member becomes an option, which is checked as on the command line.
 */
#include "put_json.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "json_value.h"
#include "need.h"
#include "parse.h"

#define NUL_ESCAPE "\\u0000"

/* A line as a call: what it is called with, and the values of its members. */
struct reading {
    struct put_json *j;
    struct call call;
    struct parse_value *values;
    size_t n;
};

__attribute__((format(printf, 1, 2))) static char *say(const char *format, ...)
{
    char *why = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&why, format, args) < 0)
        need(NULL);
    va_end(args);
    return why;
}

/* The words of the first complaint. */
static void keep_words(const char *error, const char *message, void *arg)
{
    char **why = arg;
    (void)error;
    if (!*why)
        *why = need(strdup(message));
}

static void add_value(struct reading *r, const char *name, const char *text)
{
    r->values = need(reallocarray(r->values, r->n + 1, sizeof *r->values));
    r->values[r->n++] = (struct parse_value){name, text};
}

static void *keep(struct put_json *j, void *part)
{
    j->parts = need(reallocarray(j->parts, j->n_parts + 1, sizeof *j->parts));
    return j->parts[j->n_parts++] = part;
}

static bool is_flag(const struct opt *o)
{
    return o && o->kind == OPT_FLAG;
}

static char *add_one(struct reading *r, const char *name, const struct cJSON *value)
{
    char number[JSON_NUMBER_SIZE];
    const char *why, *text = json_value_text(opt_find(r->call.command->options, name), value, number, &why);
    if (!text)
        return say("'%s' %s", name, why);
    add_value(r, name, text == number ? keep(r->j, need(strdup(number))) : text);
    return NULL;
}

/* A list becomes an option that may be given more than once; true a flag; null nothing. Returns what is wrong, or NULL.
 * An empty list for any other option would pass for nothing. */
static char *add_member(struct reading *r, const struct cJSON *member)
{
    const char *name = member->string;
    const struct opt *o = opt_find(r->call.command->options, name);
    const struct cJSON *one;
    char *why = NULL;
    if (cJSON_IsNull(member) || (is_flag(o) && cJSON_IsFalse(member)))
        return NULL;
    if (is_flag(o) && !cJSON_IsTrue(member))
        return say("'%s' must be true or false", name);
    if (is_flag(o) || !o) /* one that is unknown is refused with the others' values */
        add_value(r, name, NULL);
    else if (!cJSON_IsArray(member) || o->kind != OPT_LIST)
        return add_one(r, name, member);
    else
        cJSON_ArrayForEach(one, member) why = why ? why : add_one(r, name, one);
    return why;
}

bool put_json_is_of_a_call(const char *name)
{
    static const char *const names[] = {"lines", "json-lines", "request", "wait"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* ---- data that is no text: the bytes of the line, because cJSON would round its numbers ---- */

/* `at` is a quote; returns the one that closes it. */
static const char *skip_string(const char *at)
{
    for (at++; *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at;
}

/* The value that begins at `at` in valid JSON ends at the comma or bracket that is not its own, or before blanks. */
static struct muster_bytes value_at(const char *at)
{
    const char *from, *last;
    int depth = 0;
    while (isspace((unsigned char)*at))
        at++;
    for (from = last = at; depth > 0 || !strchr(",}]", *at); at++) {
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (*at == '"')
            at = skip_string(at);
        if (!isspace((unsigned char)*at))
            last = at;
    }
    return (struct muster_bytes){from, (size_t)(last - from) + 1};
}

/* The member's value as it stands in the line, which cJSON has found valid. Members are in the line's order. */
static struct muster_bytes raw_value(const struct put_json *j, const struct cJSON *member, const char *line)
{
    struct muster_bytes value = {strchr(line, '{'), 1};
    for (const struct cJSON *one = j->object->child; one; one = one->next) {
        const char *name = strchr((const char *)value.data + value.len, '"');
        value = value_at(strchr(skip_string(name), ':') + 1);
        if (one == member)
            break;
    }
    return value;
}

static struct muster_bytes data_of(const struct put_json *j, const struct cJSON *member, const char *line)
{
    if (cJSON_IsString(member))
        return (struct muster_bytes){member->valuestring, strlen(member->valuestring)};
    return raw_value(j, member, line);
}

/* ---- a line ---- */

static char *add_members(struct reading *r, const char *line, struct muster_bytes *data)
{
    const struct cJSON *member, *object = r->j->object;
    const char *twice = json_value_twice(object);
    char *why = twice ? say("'%s' is there more than once", twice) : NULL;
    cJSON_ArrayForEach(member, object)
    {
        if (why)
            break;
        if (put_json_is_of_a_call(member->string))
            why = say("'%s' is an option of the call, not of a job", member->string);
        else if (strcmp(member->string, "data") == 0)
            *data = data_of(r->j, member, line);
        else
            why = add_member(r, member);
    }
    return why;
}

/* The spec points to the lists of the call, which itself is over. */
static void keep_lists(struct reading *r)
{
    for (size_t i = 0; i < OPT_LIMIT; i++)
        if (r->call.own[i].texts)
            (void)keep(r->j, r->call.own[i].texts);
}

static char *read_members(struct put_json *j, const struct call *like, const char *line)
{
    struct reading r = {.j = j, .call = {.command = like->command, .operands = like->operands, .n_operands = 1}};
    struct muster_bytes data = {NULL, 0};
    char *why = add_members(&r, line, &data);
    if (!why) {
        complain_to(keep_words, &why);
        if (parse_values(&r.call, like, r.values, r.n) == 0 && put_check_options(&r.call) == 0)
            put_read_spec(&r.call, data, &j->spec);
        complain_to(NULL, NULL);
    }
    keep_lists(&r);
    free(r.values);
    return why;
}

/* cJSON would end the text there. */
static bool has_nul(struct muster_bytes line)
{
    const char *at = line.data, *end = at + line.len;
    if (memchr(at, '\0', line.len))
        return true;
    while ((at = memmem(at, (size_t)(end - at), NUL_ESCAPE, strlen(NUL_ESCAPE)))) {
        const char *first = at;
        while (first > (const char *)line.data && first[-1] == '\\')
            first--;
        if ((at - first) % 2 == 0)
            return true;
        at += strlen(NUL_ESCAPE);
    }
    return false;
}

static bool is_blank(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at == end;
}

bool put_json_read(struct put_json *j, const struct call *like, struct muster_bytes line, char **why)
{
    const char *end = NULL, *from = line.data;
    *j = (struct put_json){.object = NULL};
    *why = NULL;
    j->object = line.len > 0 ? cJSON_ParseWithLengthOpts(from, line.len, &end, 0) : NULL;
    if (has_nul(line))
        *why = say("it has a NUL, which cannot be in a text here: use --lines, or encode the data");
    else if (!cJSON_IsObject(j->object) || !is_blank(end, from + line.len))
        *why = say("it is no object of JSON, as %s", "{\"id\": \"a\", \"data\": \"text\", \"tag\": [\"red\"]}");
    else
        *why = read_members(j, like, from);
    return *why != NULL;
}

void put_json_clear(struct put_json *j)
{
    cJSON_Delete(j->object);
    for (size_t i = 0; i < j->n_parts; i++)
        free(j->parts[i]);
    free(j->parts);
    *j = (struct put_json){.object = NULL};
}
