/* SPDX-License-Identifier: MIT
 *
 * Scripts that concern a queue.
 */
#ifndef SCRIPT_QUEUE_H
#define SCRIPT_QUEUE_H

#include "protocol/script.h"

/* The scripts whose only argument is a queue: pause, resume, delete (script_cancelled() reads its answer), and listen
 * (the queue "": listen to jobs). */
void script_queue_call(struct command *c, enum script_id id, const struct script_root *root, const char *queue);

/* So often the scripts are told that somebody listens. They forget it after ten seconds; as long as this after they were
 * told they remember it for sure. */
#define LISTEN_RENEW_MS 3000
#define LISTEN_FRESH_MS 9000

/* Set a setting. `queue` NULL: of the namespace. `value` NULL: unset it. */
void script_config(struct command *c, const struct script_root *root, const char *queue, const char *name,
                   const int64_t *value);

/* Read, and cut texts of more than `most` bytes; the answer has about `room`. The caller adds the commands. */
#define SCRIPT_HEADS_ROOM ((size_t)256 * 1024)
void script_heads(struct command *c, const struct script_root *root, size_t most, size_t room);

/* Tidy from a place among the queues' names on. */
void script_tidy(struct command *c, const struct script_root *root, uint64_t place);
struct script_tidied {
    int64_t place;    /* to go on from; -1: that was the end */
    uint64_t removed; /* how much */
};
int script_tidied(const struct redisReply *r, struct script_tidied *out);

/* Note how many tasks have come, from a place among the queues' names on. `before_ms` is when all of them were looked at
 * last, 0: never. */
void script_note_ages(struct command *c, const struct script_root *root, uint64_t place, int64_t before_ms);
struct script_noted_ages {
    int64_t place;  /* to go on from; -1: that was the end */
    int64_t now_ms; /* by the server's clock */
};
int script_noted_ages(const struct redisReply *r, struct script_noted_ages *out);

#endif
