/* SPDX-License-Identifier: MIT
 *
 * A list sorted by name, made anew with each look.
 */
#include "seen.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "need.h"

#define AGES_EVERY 10

static void clear_row(struct seen_row *row)
{
    free(row->name);
    history_free(row->history);
}

void seen_clear(struct seen *s)
{
    for (size_t i = 0; i < s->n; i++)
        clear_row(&s->rows[i]);
    free(s->rows);
    s->rows = NULL;
    s->n = 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct seen_row *)a)->name, ((const struct seen_row *)b)->name);
}

static struct seen_row *find(struct seen_row *rows, size_t n, const char *name)
{
    const struct seen_row wanted = {.name = (char *)name};
    return n ? bsearch(&wanted, rows, n, sizeof *rows, compare) : NULL;
}

struct seen_row *seen_find(const struct seen *s, const char *name)
{
    return find(s->rows, s->n, name);
}

/* As it stands in the JSON: as it is, or its base64. */
static const char *name_of(const struct seen *s, const struct cJSON *row)
{
    char key[40];
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, s->key);
    snprintf(key, sizeof key, "%s_base64", s->key);
    name = name ? name : cJSON_GetObjectItemCaseSensitive(row, key);
    return cJSON_IsString(name) ? name->valuestring : "";
}

/* They grow between any two looks. */
static bool is_age(const char *key)
{
    static const char *const ages[] = {"heard_ms", "oldest_ms", "oldest_error_ms"};
    for (size_t i = 0; i < sizeof ages / sizeof *ages; i++)
        if (strcmp(key, ages[i]) == 0)
            return true;
    return false;
}

/* FNV-1a */
static uint64_t mix(uint64_t mark, const void *bytes, size_t len)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < len; i++)
        mark = (mark ^ b[i]) * 1099511628211u;
    return mark;
}

/* Cheaper than the row's text, of which there are thousands each second. */
static uint64_t mark_of(uint64_t mark, const cJSON *item)
{
    const cJSON *each;
    if (item->string && is_age(item->string))
        return mark;
    mark = mix(mark, &item->type, sizeof item->type);
    if (item->string)
        mark = mix(mark, item->string, strlen(item->string) + 1);
    if (cJSON_IsNumber(item))
        mark = mix(mark, &item->valuedouble, sizeof item->valuedouble);
    if (item->valuestring)
        mark = mix(mark, item->valuestring, strlen(item->valuestring) + 1);
    cJSON_ArrayForEach(each, item) mark = mark_of(mark, each);
    return mark;
}

static void add(cJSON *array, cJSON *item)
{
    if (!cJSON_AddItemToArray(array, need(item)))
        need(NULL);
}

static void tell_gone(const struct seen_row *old, size_t n_old, struct seen_row *rows, size_t n, cJSON *gone)
{
    for (size_t i = 0; i < n_old; i++)
        if (!find(rows, n, old[i].name))
            add(gone, cJSON_CreateString(old[i].name));
}

struct cJSON *seen_update(struct seen *s, struct cJSON *rows, seen_fn *fn, void *arg)
{
    struct seen before = *s;
    size_t n = (size_t)cJSON_GetArraySize(rows);
    cJSON *change = need(cJSON_CreateObject()), *row;
    cJSON *items = need(cJSON_AddArrayToObject(change, "items")), *gone = need(cJSON_AddArrayToObject(change, "gone"));
    s->rows = need(calloc(n + 1, sizeof *s->rows));
    s->n = 0;
    s->round++;
    cJSON_ArrayForEach(row, rows)
    {
        struct seen_row *now = &s->rows[s->n++];
        now->name = need(strdup(name_of(s, row)));
        struct seen_row *old = find(before.rows, before.n, now->name);
        now->history = old ? old->history : NULL;
        fn(arg, row, now, old);
        now->mark = mark_of(14695981039346656037u, row);
        if (old)
            old->history = NULL;
        if (!old || old->mark != now->mark || (s->n + s->round) % AGES_EVERY == 0)
            add(items, cJSON_Duplicate(row, true));
    }
    qsort(s->rows, s->n, sizeof *s->rows, compare);
    tell_gone(before.rows, before.n, s->rows, s->n, gone);
    seen_clear(&before);
    return change;
}
