/* SPDX-License-Identifier: MIT
 *
 * How far two words are apart: the number of letters to put in, take out, replace or swap with their neighbour. A third
 * of the word may be wrong; more than that is another word.
 */
#include "similar.h"

#include <string.h>

#define LEN_MAX 32

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, const char *b)
{
    size_t d[LEN_MAX + 1][LEN_MAX + 1], n = strlen(a), m = strlen(b);
    if (n > LEN_MAX || m > LEN_MAX)
        return LEN_MAX;
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[n][m];
}

const char *similar_find(const char *word, const char *const *names, size_t n)
{
    const char *found = NULL;
    size_t best = strlen(word) / 3 + 1;
    for (size_t i = 0; i < n; i++) {
        size_t far = distance(word, names[i]);
        if (far < best) {
            best = far;
            found = names[i];
        }
    }
    return found;
}
