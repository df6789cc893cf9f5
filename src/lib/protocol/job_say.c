/* SPDX-License-Identifier: MIT
 *
 * What a script has refused of a job, in words.
 */
#include "protocol/job_say.h"

#include <muster/error.h>
#include <string.h>

#include "base/words.h"
#include "redis/reply.h"

static const char will_not_fail[] = "will not fail";

bool job_say_is_about_missing(int err, const char *what)
{
    return (err == MUSTER_E_NOT_FOUND && what && strncmp(what, "after", 5) == 0) ||
           (err == MUSTER_E_STATE && what && strcmp(what, will_not_fail) == 0);
}

const char *job_say_missing(const char *what, const char *id, const char *on)
{
    const char *other = on ? on : "";
    if (strcmp(what, will_not_fail) == 0)
        return words_say("the job '%s' is complete and will not fail, so the job '%s' would wait for ever: leave it "
                         "out; nothing was changed",
                         other, id);
    if (strcmp(what, "after_failure") == 0)
        return words_say("there is no job '%s' whose failure the job '%s' could wait for: put that one first; nothing "
                         "was changed",
                         other, id);
    return words_say("there is no job '%s' for the job '%s' to wait for: put that one first, or say that it may be "
                     "missing; nothing was changed",
                     other, id);
}

const char *job_say_obstacle(int err, const char *id, const char *other)
{
    if (err == MUSTER_E_TOO_BIG)
        return words_say("too many jobs are tied to the job '%s' by what they wait for: nobody can see in time whether "
                         "it would wait for itself; nothing was changed",
                         id);
    if (!other || strcmp(id, other) == 0)
        return words_say("the job '%s' would wait for itself; nothing was changed", id);
    return words_say("one of the jobs '%s' and '%s' would wait for itself, or for a recurring job; nothing was changed",
                     id, other);
}

/* NULL: it is another error. */
static const char *say_batch(int err, const char *what, const char *batch)
{
    static const char state[] = "batch ";
    const char *id = batch ? batch : "";
    if (err == MUSTER_E_NOT_FOUND)
        return words_say("there is no batch '%s' (any more): open it first; nothing was changed", id);
    if (err == MUSTER_E_STATE && what && strncmp(what, state, strlen(state)) == 0)
        return words_say("the batch '%s' %s %s: no more jobs can be put to it; nothing was changed", id,
                         strcmp(what + strlen(state), "ended") == 0 ? "has" : "is", what + strlen(state));
    if (err == MUSTER_E_STATE && what && strcmp(what, "member") == 0)
        return words_say("the job is a member of the batch '%s', and cannot leave it; nothing was changed", id);
    if (err == MUSTER_E_STATE)
        return words_say("a job that recurs never ends, so it is no member of a batch; nothing was changed");
    return NULL;
}

/* What stands in the way of a put, and is no job that does the same. NULL: something else does. */
static const char *say_in_the_way(const char *what, const char *id)
{
    bool is_dropped = what && strcmp(what, "dropped") == 0;
    if (is_dropped)
        return words_say(
            "'%s' is in somebody's hands, but was cancelled, or its queue was deleted: when it is let go it "
            "is dropped. Put it again then; nothing was put",
            id ? id : "");
    if (what && strcmp(what, "ending") == 0)
        return words_say("an equal task, '%s', has ended, and the jobs that waited for it are still let go: enqueue it "
                         "again in a moment; nothing was enqueued",
                         id ? id : "");
    if (what && strcmp(what, "no unique task") == 0)
        return words_say("'%s', the id of this unique task, is that of a job which is none: cancel or drop that one "
                         "first; nothing was enqueued",
                         id ? id : "");
    return NULL;
}

const char *job_say_refusal(int err, const char *id, const struct redisReply *reply)
{
    const char *what = reply_text(reply_at(reply, 1)), *more = reply_text(reply_at(reply, 2));
    if (err == MUSTER_E_EXISTS && what && strcmp(what, "ending") == 0)
        return words_say("the last job '%s' has ended, and the jobs that waited for it are still let go: put it again "
                         "in a moment; nothing was changed",
                         id);
    const char *is = what && strcmp(what, "depends") == 0 ? "waiting for others" : what;
    if (err == MUSTER_E_EXISTS)
        return words_say("the job '%s' is %s: replace or cancel it, or choose another id; nothing was changed", id,
                         is ? is : "alive");
    if (err == MUSTER_E_INVALID && more && strcmp(more, "recurs") == 0)
        return words_say(
            "the job '%s' recurs, or would: no job can wait for it, and it cannot wait for others; nothing was changed",
            id);
    if (err == MUSTER_E_INVALID && more && strcmp(more, "timed") == 0)
        return words_say(
            "the job '%s' recurs: its interval or schedule says when, no time or delay of its own; give it "
            "another one, or cancel it first; nothing was changed",
            id);
    if (err == MUSTER_E_INVALID && more && strcmp(more, "over") == 0)
        return words_say("the job '%s' would never recur: its interval has no time up to its last one; nothing "
                         "was changed",
                         id);
    if (err == MUSTER_E_INVALID || (err == MUSTER_E_TOO_BIG && what))
        return job_say_obstacle(err, id, what);
    if (job_say_is_about_missing(err, what))
        return job_say_missing(what, id, more);
    if (err == MUSTER_E_NOT_FOUND && what && strcmp(what, "data") == 0)
        return words_say("there is no job '%s' whose data could stay: put it with data of its own; nothing was changed",
                         id);
    const char *in_the_way = err == MUSTER_E_STATE ? say_in_the_way(what, more) : NULL;
    return in_the_way ? in_the_way : say_batch(err, what, more);
}
