/* SPDX-License-Identifier: MIT
 *
 * Lists of names: an array that is filled first and sorted once.
 */
#include "base/name_list.h"

#include <muster/error.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

int name_list_add(struct name_list *names, const char *text, size_t len)
{
    if (names->n == names->size) {
        size_t size = names->size ? names->size * 2 : 64;
        struct name *wider = realloc(names->at, size * sizeof *wider);
        if (!wider)
            return MUSTER_E_NOMEM;
        names->at = wider;
        names->size = size;
    }
    char *copy = malloc(len + 1);
    if (!copy)
        return MUSTER_E_NOMEM;
    memcpy(copy, text, len);
    copy[len] = '\0';
    names->at[names->n++] = (struct name){.text = copy, .len = len};
    return MUSTER_OK;
}

static int compare(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

void name_list_sort(struct name_list *names)
{
    size_t kept = 0;
    if (names->n > 0)
        qsort(names->at, names->n, sizeof *names->at, compare);
    for (size_t i = 0; i < names->n; i++) {
        if (kept > 0 && compare(&names->at[kept - 1], &names->at[i]) == 0)
            free(names->at[i].text);
        else
            names->at[kept++] = names->at[i];
    }
    names->n = kept;
}

static int compare_at(const void *list, size_t at, const void *wanted)
{
    return compare((const struct name *)list + at, wanted);
}

size_t name_list_find(const struct name_list *names, char *text, size_t len)
{
    const struct name wanted = {.text = text, .len = len};
    return sorted_place(names->at, names->n, compare_at, &wanted);
}

void name_list_clear(struct name_list *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i].text);
    free(names->at);
}
