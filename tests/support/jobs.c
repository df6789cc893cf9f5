/* SPDX-License-Identifier: MIT
 *
 * Jobs for live tests.
 */
#include <stdlib.h>
#include <string.h>

#include "jobs.h"
#include "script_call.h"

#define ARGS_MAX 64

static const char *value_of(const char *const *fields, const char *name, const char *otherwise)
{
    for (; fields[0]; fields += 2)
        if (!strcmp(fields[0], name))
            return fields[1];
    return otherwise;
}

void job_put_list(struct scene *s, const char *queue, const char *id, const char *const *fields)
{
    const char *args[ARGS_MAX] = {queue, "", id};
    size_t n = 3;
    const char *const more[] = {"data", value_of(fields, "data", id), "retries", value_of(fields, "retries", "5"),
                                NULL};
    const char *const *const lists[] = {more, fields};
    for (size_t i = 0; i < N_OF(lists); i++)
        for (const char *const *f = lists[i]; *f; f += 2)
            if ((i == 0 || !value_of(more, *f, NULL)) && n + 3 < ARGS_MAX) {
                args[n++] = f[0];
                args[n++] = f[1];
            }
    assert_int_equal(script_status(script_call_list(s, SCRIPT_PUT, args)), 0);
}

static char *field_of(struct scene *s, const char *id, const char *field)
{
    char *value = raw_string(s->server->redis, "HGET %s:job:%s %s", s->prefix, id, field);
    return value ? value : strdup("");
}

void job_assert(struct scene *s, const char *id, const char *field, const char *value)
{
    char *found = field_of(s, id, field);
    if (strcmp(found, value) != 0)
        fail_msg("%s of the job %s is '%s', not '%s'", field, id, found, value);
    free(found);
}

struct awaited {
    struct scene *scene;
    const char *id, *field, *value;
};

static bool is_so(void *arg)
{
    const struct awaited *a = arg;
    char *found = field_of(a->scene, a->id, a->field);
    bool same = !strcmp(found, a->value);
    free(found);
    return same;
}

void job_await(struct scene *s, const char *id, const char *field, const char *value)
{
    struct awaited a = {s, id, field, value};
    if (!wait_for(s->base, is_so, &a, SOON_MS))
        job_assert(s, id, field, value);
}

void job_config(struct scene *s, const char *queue, const char *name, const char *value)
{
    assert_int_equal(script_does(s, SCRIPT_CONFIG, queue, name, value), 0);
}
