/* SPDX-License-Identifier: MIT
 *
 * A row stays the same object until it is told anew; only its ages are set in it.
 */
#include "seen.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "need.h"
#include "text.h"

#define AGES_EVERY 10

/* It may still have the neighbours that it had in a list. */
static void delete_row(cJSON *row)
{
    if (row)
        row->next = row->prev = NULL;
    cJSON_Delete(row);
}

static void clear_row(struct seen_row *row)
{
    delete_row(row->row);
    free(row->name);
    history_free(row->history);
    *row = (struct seen_row){.name = NULL};
}

/* The rows are the slots'. */
static void clear_list(struct seen *s)
{
    if (s->list)
        s->list->child = NULL;
    cJSON_Delete(s->list);
    s->list = NULL;
}

void seen_clear(struct seen *s)
{
    clear_list(s);
    for (size_t i = 0; i < s->n_slots; i++)
        clear_row(&s->slots[i]);
    free(s->slots);
    s->slots = NULL;
    s->n_slots = 0;
}

/* The base64 of one name may be another name. */
static bool is_named(const struct seen *s, const struct seen_row *row, const char *shown, bool is_utf8)
{
    return row->name && strcmp(row->name, shown) == 0 && cJSON_HasObjectItem(row->row, s->key) == is_utf8;
}

const struct seen_row *seen_find(const struct seen *s, const char *name)
{
    size_t i = 0, len = strlen(name);
    bool is_utf8 = text_is_utf8(name, len);
    char *shown = is_utf8 ? need(strdup(name)) : text_base64(name, len);
    while (i < s->n_slots && !is_named(s, &s->slots[i], shown, is_utf8))
        i++;
    free(shown);
    return i < s->n_slots ? &s->slots[i] : NULL;
}

double seen_age(const struct seen_row *row, size_t which)
{
    return cJSON_IsNumber(row->ages[which]) ? row->ages[which]->valuedouble : NAN;
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

static void add(cJSON *array, cJSON *item)
{
    if (!cJSON_AddItemToArray(array, need(item)))
        need(NULL);
}

/* ---- one row ---- */

static struct seen_row *row_at(struct seen *s, size_t slot)
{
    if (slot >= s->n_slots) {
        size_t n = slot * 2 + 64;
        s->slots = need(realloc(s->slots, n * sizeof *s->slots));
        memset(s->slots + s->n_slots, 0, (n - s->n_slots) * sizeof *s->slots);
        s->n_slots = n;
    }
    return &s->slots[slot];
}

static void find_ages(struct seen_row *row)
{
    cJSON *each;
    size_t n = 0;
    memset(row->ages, 0, sizeof row->ages);
    cJSON_ArrayForEach(each, row->row) if (n < MEMO_AGES && memo_is_age(each->string)) row->ages[n++] = each;
}

static void set_ages(struct seen_row *row, const int64_t ages[MEMO_AGES])
{
    for (size_t i = 0; i < MEMO_AGES; i++)
        if (cJSON_IsNumber(row->ages[i]))
            cJSON_SetNumberValue(row->ages[i], (double)ages[i]);
}

static enum seen_how take_row(struct seen *s, struct seen_row *row, struct memo_row *found)
{
    enum seen_how how = !row->name ? SEEN_NEW : found->row ? SEEN_CHANGED : SEEN_SAME;
    if (found->row) {
        delete_row(row->row);
        row->row = found->row;
        found->row = NULL;
        find_ages(row);
    }
    if (how == SEEN_NEW)
        row->name = need(strdup(name_of(s, need(row->row))));
    set_ages(row, found->ages);
    row->round = s->round;
    return how;
}

/* ---- all of them ---- */

static void put_into_list(struct seen *s, struct seen_row *row)
{
    row->row->next = row->row->prev = NULL;
    add(s->list, row->row);
}

static void drop_gone(struct seen *s, cJSON *gone)
{
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i].name && s->slots[i].round != s->round) {
            add(gone, cJSON_CreateString(s->slots[i].name));
            clear_row(&s->slots[i]);
        }
}

struct cJSON *seen_update(struct seen *s, struct memo_listing *listing, seen_fn *fn, void *arg)
{
    cJSON *change = need(cJSON_CreateObject());
    cJSON *items = need(cJSON_AddArrayToObject(change, "items")), *gone = need(cJSON_AddArrayToObject(change, "gone"));
    clear_list(s);
    s->list = need(cJSON_CreateArray());
    s->round++;
    for (size_t i = 0; i < listing->n; i++) {
        struct seen_row *row = row_at(s, listing->rows[i].slot);
        enum seen_how how = take_row(s, row, &listing->rows[i]);
        bool is_other = fn(arg, row, how) || how != SEEN_SAME;
        put_into_list(s, row);
        if ((is_other || (i + s->round) % AGES_EVERY == 0) && !cJSON_AddItemReferenceToArray(items, row->row))
            need(NULL);
    }
    drop_gone(s, gone);
    memo_listing_clear(listing);
    return change;
}
