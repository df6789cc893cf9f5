/* SPDX-License-Identifier: MIT */
#include "json_value.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"

/* From here on a double has not all whole numbers. */
#define WHOLE_MAX 9007199254740992.0

static bool is_number(const struct opt *o)
{
    return o && (o->kind == OPT_COUNT || o->kind == OPT_INTEGER || o->kind == OPT_DURATION);
}

const char *json_value_text(const struct opt *o, const struct cJSON *value, char number[JSON_NUMBER_SIZE],
                            const char **why)
{
    if (cJSON_IsString(value))
        return value->valuestring;
    *why = is_number(o) ? "must be a text or a number" : "must be a text, in quotes";
    if (!is_number(o) || !cJSON_IsNumber(value))
        return NULL;
    *why = "must be a text, in quotes, because the number is too large to keep its digits";
    if (!(value->valuedouble > -WHOLE_MAX && value->valuedouble < WHOLE_MAX))
        return NULL;
    snprintf(number, JSON_NUMBER_SIZE, "%.15g", value->valuedouble);
    if (strtod(number, NULL) != value->valuedouble)
        snprintf(number, JSON_NUMBER_SIZE, "%.17g", value->valuedouble);
    return number;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *json_value_twice(const struct cJSON *object)
{
    size_t n = 0, most = (size_t)cJSON_GetArraySize(object);
    const char **names = need(calloc(most + 1, sizeof *names)), *twice = NULL;
    const cJSON *member;
    cJSON_ArrayForEach(member, object) names[n++] = member->string;
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n && !twice; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            twice = names[i];
    free(names);
    return twice;
}
