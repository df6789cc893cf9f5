/* SPDX-License-Identifier: MIT
 *
 * One Redis command that is being built: arguments by pointer and length, never by format string. Bytes are borrowed
 * until the command was sent, or made its own; the command keeps its numbers. Running out of memory is remembered, and
 * reported when the command is sent.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <muster/client.h>
#include <stdbool.h>

struct command_numbers;

/* From here on a request or an answer is large: a server may be set up not to let it through. */
#define COMMAND_LARGE ((size_t)64 * 1024)

/* A script: its body, which is its text, and the digest of that. */
struct lua_script {
    const char *name;
    const char *sha1;
    const unsigned char *body;
    size_t len;
};

struct command {
    const char **argv;
    size_t *lens;
    size_t n;
    size_t cap;
    struct command_numbers *numbers;
    char *own;                       /* copies of what was borrowed; NULL: none */
    const struct lua_script *script; /* NULL: a plain command. A script's first words are EVALSHA and its digest */
    const char *last;                /* the last argument, which command_close() adds; NULL: none, or it is there */
    bool is_heavy;                   /* its answer may be large */
    size_t weight;                   /* of a heavy one: so many things that may be large; 0 is 1 */
    bool is_look;                    /* it only reads: it may be sent again whatever became of it */
    bool failed;                     /* memory ran out */
};

#define COMMAND_EMPTY \
    {                 \
        0             \
    }

void command_clear(struct command *c);
void command_bytes(struct command *c, const void *data, size_t len);
void command_text(struct command *c, const char *text);
void command_number(struct command *c, int64_t number);
/* Words, up to NULL. */
void command_words(struct command *c, const char *const *words);
/* It borrows nothing any more of what was added so far. */
void command_own(struct command *c);
/* Call this before it is sent: adds its last argument, once. */
void command_close(struct command *c);

#endif
