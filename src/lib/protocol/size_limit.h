/* SPDX-License-Identifier: MIT
 *
 * What is given up because Redis does not let it through for its size.
 */
#ifndef SIZE_LIMIT_H
#define SIZE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/script_task.h"
#include "redis/byte_limits.h"

/* After so many connections that ended while nothing else was under way. */
#define SIZE_LIMIT_BREAKS 2
/* A take that has set aside so many for want of memory asks for no more. */
#define SIZE_LIMIT_ASIDE_MAX 16

/* What ended connections of one take after the other: one process of so many bytes. Begin with 0. */
struct size_suspect {
    uint64_t n_bytes;
    unsigned n_breaks;
};
/* A take's connection ended while nothing else was under way, and this went back. */
void size_limit_note_break(struct size_suspect *s, const struct script_untaken *back);
/* How many bytes have ended so many that they must not be sent once more; 0: none. */
uint64_t size_limit_due(const struct size_suspect *s);

#define SIZE_LIMIT_WORDS 256
/* What there is less of than it needs. */
#define SIZE_LIMIT_ANSWER "this Redis lets through in one answer (client-output-buffer-limit)"
#define SIZE_LIMIT_TOGETHER                                                              \
    "%" PRIu64 " tasks taken together were more than " SIZE_LIMIT_ANSWER ", of %" PRIu64 \
    ": fewer are asked for at once; raise that limit for normal clients to take more"
#define SIZE_LIMIT_REQUEST "this Redis lets through in one request (proto-max-bulk-len, client-query-buffer-limit)"
#define SIZE_LIMIT_MEMORY "this worker has memory for"
#define SIZE_LIMIT_MEMORY_TAKER "this program has memory for"
/* What may be too large, X(thing, word, for what). */
#define SIZE_LIMIT_THINGS(X)                                 \
    X(LARGE_TASK, "task", SIZE_LIMIT_ANSWER)                 \
    X(LARGE_RECORD, "record", SIZE_LIMIT_ANSWER)             \
    X(LARGE_RESULT, "result", SIZE_LIMIT_REQUEST)            \
    X(LARGE_DATA, "data", SIZE_LIMIT_REQUEST)                \
    X(LARGE_TASK_HERE, "task", SIZE_LIMIT_MEMORY)            \
    X(LARGE_RECORD_HERE, "record", SIZE_LIMIT_MEMORY)        \
    X(LARGE_TASK_TAKEN, "task", SIZE_LIMIT_MEMORY_TAKER)     \
    X(LARGE_RECORD_TAKEN, "record", SIZE_LIMIT_MEMORY_TAKER) \
    X(LARGE_FOLLOWER, "follow-up task", SIZE_LIMIT_REQUEST)

enum size_limit_thing {
#define SIZE_LIMIT_ENUM(thing, word, most) thing,
    SIZE_LIMIT_THINGS(SIZE_LIMIT_ENUM)
#undef SIZE_LIMIT_ENUM
};

/* Why it fails: so many bytes of this. */
void size_limit_words(char words[SIZE_LIMIT_WORDS], enum size_limit_thing thing, uint64_t n_bytes);

/* A job that Redis does not send: of so many bytes of data and result, at this limit; 0: it is not known. */
struct job_too_big {
    uint64_t n_bytes, limit;
};
#define SIZE_LIMIT_JOB 512
void size_limit_job(char words[SIZE_LIMIT_JOB], const char *id, const struct job_too_big *job);

/* The name of a process, and these words: for people. */
#define SIZE_LIMIT_LINE 768
void size_limit_line(char line[SIZE_LIMIT_LINE], const char *process, const char *words);
/* Of what a take has got, and has no memory for. */
void size_limit_aside(char line[SIZE_LIMIT_LINE], const char *process, const struct script_leased_one *one);

#endif
