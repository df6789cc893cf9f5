/* SPDX-License-Identifier: MIT
 *
 * Replies, read by hiredis' reader.
 *
 * A reader that has held much is replaced when it is empty, because the memory of a connection should not stay that of
 * its largest answer. The reader could do so itself, but ends the program if there is no memory for the smaller one.
 */
#include "redis/wire_in.h"

#include <muster/error.h>
#include <stdio.h>

#define KEPT_MAX ((size_t)1024 * 1024)

static redisReader *new_reader(void)
{
    redisReader *reader = redisReaderCreate();
    if (reader)
        reader->maxbuf = 0;
    return reader;
}

int wire_in_init(struct wire_in *in)
{
    *in = (struct wire_in){.reader = new_reader()};
    if (!in->reader)
        return MUSTER_E_NOMEM;
    guard_attach(&in->guard, in->reader);
    return MUSTER_OK;
}

void wire_in_clear(struct wire_in *in)
{
    redisReaderFree(in->reader);
}

size_t wire_in_held(const struct wire_in *in)
{
    return in->reader->len - in->reader->pos;
}

int wire_in_feed(struct wire_in *in, const char *data, size_t n)
{
    if (redisReaderFeed(in->reader, data, n) != REDIS_OK)
        return MUSTER_E_NOMEM;
    if (in->reader->len > in->held_most)
        in->held_most = in->reader->len;
    return MUSTER_OK;
}

static void give_memory_back(struct wire_in *in)
{
    redisReader *fresh = in->held_most > KEPT_MAX && wire_in_held(in) == 0 ? new_reader() : NULL;
    if (!fresh)
        return;
    size_t asked = in->guard.asked;
    bool listens = in->guard.listens;
    redisReaderFree(in->reader);
    in->reader = fresh;
    in->held_most = 0;
    guard_attach(&in->guard, fresh);
    in->guard.asked = asked;
    in->guard.listens = listens;
}

static int fail(struct wire_in *in)
{
    if (in->reader->err == REDIS_ERR_OOM && !in->guard.refused) {
        snprintf(in->why, sizeof in->why, "out of memory");
        return in->err = MUSTER_E_NOMEM;
    }
    snprintf(in->why, sizeof in->why, "this is not a Redis: %s",
             in->guard.refused ? in->guard.refused : in->reader->errstr);
    return in->err = MUSTER_E_REDIS;
}

/* It came unasked, so it is an error, which tells why the connection ends. */
static int fail_by_refusal(struct wire_in *in, redisReply *refusal)
{
    snprintf(in->why, sizeof in->why, "%s", *refusal->str ? refusal->str : "it refuses without a word");
    in->err = reply_err_of_text(refusal->str);
    freeReplyObject(refusal);
    return in->err;
}

int wire_in_next(struct wire_in *in, struct redisReply **reply)
{
    void *next = NULL;
    *reply = NULL;
    if (in->err != MUSTER_OK)
        return in->err;
    if (redisReaderGetReply(in->reader, &next) != REDIS_OK)
        return fail(in);
    if (!next)
        return guard_may_wait(&in->guard, in->reader) ? MUSTER_OK : fail(in);
    in->was_pushed = in->guard.listens && guard_is_push(next);
    if (!in->was_pushed && in->guard.asked == 0)
        return fail_by_refusal(in, next);
    in->guard.asked -= !in->was_pushed;
    give_memory_back(in);
    *reply = next;
    return MUSTER_OK;
}
