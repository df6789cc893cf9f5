/* SPDX-License-Identifier: MIT
 *
 * Ending a process by its id, and extending a lease, with a note on how far the work is, or new data for its job.
 */
#include "client/lease_end.h"

#include "protocol/script_task.h"

int lease_end_check(struct muster_client *c, const struct muster_lease_end *e, struct end_by_id *named)
{
    const char *why = NULL;
    return client_answer(c, end_by_id_check(named, e, c->max_task_len, &why), &why);
}

void lease_end_hear(struct muster_client *c, enum end_by_id_kind kind, int err, const char *process, const char *word)
{
    const char *why = end_by_id_words(kind, err, process, word);
    if (why)
        redis_error_set(c->redis, "%s", why);
}

int lease_extend_read(struct muster_client *c, struct muster_extend_options *o,
                      const struct muster_extend_options *given)
{
    const char *why = NULL;
    int err = client_read(c, SIZED_EXTEND_OPTIONS, o, given);
    return err == MUSTER_OK ? client_answer(c, end_by_id_check_extend(o, c->max_task_len, &why), &why) : err;
}

int lease_extend_check(struct muster_client *c, const char *process, struct process_name *p)
{
    const char *why = process_name_parse(p, process);
    return why ? client_refuse(c, why) : MUSTER_OK;
}

/* ---- the calls ---- */

static int end_one(struct muster_client *c, const struct muster_lease_end *e)
{
    struct command command = COMMAND_EMPTY;
    struct end_by_id named;
    struct redisReply *reply;
    int err = lease_end_check(c, e, &named);
    if (err != MUSTER_OK)
        return err;
    script_end(&command, &c->root, named.holder);
    end_by_id_say(&command, &named, e);
    err = client_run(c, &command, &reply);
    lease_end_hear(c, end_by_id_kind(e), err, e->process, reply_text(reply_at(reply, 1)));
    redis_reply_free(reply);
    end_by_id_clear(&named);
    return err;
}

int muster_lease_finish(struct muster_client *c, const char *process, const struct muster_finish_options *options)
{
    struct muster_finish_options o;
    int err = client_read(c, SIZED_FINISH_OPTIONS, &o, options);
    if (err != MUSTER_OK)
        return err;
    const struct muster_lease_end e = end_by_id_finish(process, &o);
    return end_one(c, &e);
}

int muster_lease_give_back(struct muster_client *c, const char *process)
{
    return end_one(c, &(struct muster_lease_end){.process = process, .outcome = MUSTER_GIVE_BACK});
}

int muster_lease_retry_as(struct muster_client *c, const char *process, int64_t delay_ms, const char *group,
                          const char *message)
{
    return end_one(
        c, &(struct muster_lease_end){
               .process = process, .outcome = MUSTER_RETRY, .delay_ms = delay_ms, .group = group, .message = message});
}

int muster_lease_retry(struct muster_client *c, const char *process, int64_t delay_ms)
{
    return muster_lease_retry_as(c, process, delay_ms, NULL, NULL);
}

int muster_lease_fail(struct muster_client *c, const char *process, const char *group, const char *message)
{
    return end_one(
        c, &(struct muster_lease_end){.process = process, .outcome = MUSTER_FAIL, .group = group, .message = message});
}

int muster_lease_extend(struct muster_client *c, const char *process, const struct muster_extend_options *options)
{
    struct muster_extend_options o;
    struct command command = COMMAND_EMPTY;
    struct process_name p;
    struct redisReply *reply;
    int err = lease_extend_read(c, &o, options);
    if (err == MUSTER_OK)
        err = lease_extend_check(c, process, &p);
    if (err != MUSTER_OK)
        return err;
    script_extend(&command, &c->root, p.worker, p.token, p.queue, o.lease_ms, o.progress, o.data);
    err = client_run(c, &command, &reply);
    lease_end_hear(c, END_BY_ID_EXTEND, err, process, reply_text(reply_at(reply, 1)));
    redis_reply_free(reply);
    return err;
}
