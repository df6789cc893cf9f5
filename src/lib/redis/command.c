/* SPDX-License-Identifier: MIT
 *
 * Builds the arguments of one Redis command.
 */
#include "redis/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_LEN 21
#define NUMBERS_PER_BLOCK 64

/* Blocks do not move: arguments point into them. */
struct command_numbers {
    struct command_numbers *next;
    size_t n;
    char texts[NUMBERS_PER_BLOCK][NUMBER_LEN];
};

void command_clear(struct command *c)
{
    while (c->numbers) {
        struct command_numbers *next = c->numbers->next;
        free(c->numbers);
        c->numbers = next;
    }
    free(c->argv);
    free(c->lens);
    free(c->own);
    *c = (struct command)COMMAND_EMPTY;
}

/* Room for one more argument. False: memory ran out, now or before. */
static bool make_room(struct command *c)
{
    if (c->failed)
        return false;
    if (c->n < c->cap)
        return true;
    size_t cap = c->cap ? c->cap * 2 : 32;
    const char **argv = realloc(c->argv, cap * sizeof *argv);
    c->argv = argv ? argv : c->argv;
    size_t *lens = realloc(c->lens, cap * sizeof *lens);
    c->lens = lens ? lens : c->lens;
    c->failed = !argv || !lens;
    c->cap = c->failed ? c->cap : cap;
    return !c->failed;
}

void command_bytes(struct command *c, const void *data, size_t len)
{
    if (!make_room(c))
        return;
    c->argv[c->n] = data ? data : "";
    c->lens[c->n++] = len;
}

void command_text(struct command *c, const char *text)
{
    command_bytes(c, text, strlen(text));
}

void command_number(struct command *c, int64_t number)
{
    if (!c->numbers || c->numbers->n == NUMBERS_PER_BLOCK) {
        struct command_numbers *block = malloc(sizeof *block);
        if (!block) {
            c->failed = true;
            return;
        }
        block->n = 0;
        block->next = c->numbers;
        c->numbers = block;
    }
    char *text = c->numbers->texts[c->numbers->n++];
    int len = snprintf(text, NUMBER_LEN, "%" PRId64, number);
    command_bytes(c, text, (size_t)len);
}

void command_words(struct command *c, const char *const *words)
{
    for (; *words; words++)
        command_text(c, *words);
}

void command_own(struct command *c)
{
    size_t len = 1;
    for (size_t i = 0; i < c->n; i++)
        len += c->lens[i];
    char *own = c->failed ? NULL : malloc(len), *to = own;
    for (size_t i = 0; own && i < c->n; i++) {
        memcpy(to, c->argv[i], c->lens[i]);
        c->argv[i] = to;
        to += c->lens[i];
    }
    c->failed = !own;
    free(c->own);
    c->own = own;
}

void command_close(struct command *c)
{
    if (c->last)
        command_text(c, c->last);
    c->last = NULL;
}
