/* SPDX-License-Identifier: MIT
 *
 * Marks: which processes were cancelled. See marks.c.
 */
#ifndef MARKS_H
#define MARKS_H

#include "worker/process.h"

/* Marks of processes that are not known yet. */
struct marks {
    struct early_mark {
        uint64_t token;
        enum mark mark;
    } * early;
    size_t n;
    size_t size;
};

/* One mark, as a message says it. */
void marks_note(struct muster_worker *w, uint64_t token, enum mark mark);
/* The list of marks in an answer. */
void marks_note_list(struct muster_worker *w, const struct redisReply *marks);
/* The mark that came before its process. */
enum mark marks_early(struct muster_worker *w, uint64_t token);
/* Every process with a token up to this one is known by now, or never will be. */
void marks_forget(struct muster_worker *w, uint64_t upto);
void marks_free(struct muster_worker *w);

#endif
