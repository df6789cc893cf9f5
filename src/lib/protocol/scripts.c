/* SPDX-License-Identifier: MIT
 *
 * Builds the scripts' commands and reads their answers; each function stands beside the contract that heads its .lua
 * file. An answer that does not have the promised form is MUSTER_E_REDIS.
 */
#include "protocol/scripts.h"

#include <muster/version.h>
#include <string.h>

void script_root_init(struct script_root *root, const char *prefix)
{
    root->len = key_root(root->text, prefix);
}

static void begin(struct command *c, enum script_id id, const struct script_root *root)
{
    c->script = &lua_scripts[id];
    command_text(c, "EVALSHA");
    command_text(c, c->script->sha1);
    command_text(c, "1");
    command_bytes(c, root->text, root->len);
}

static void begin_as(struct command *c, enum script_id id, const struct script_root *root,
                     const struct script_caller *who)
{
    begin(c, id, root);
    command_text(c, who->worker);
    command_bytes(c, who->epoch, TOKEN_LEN);
    command_number(c, (int64_t)who->conn);
}

static void add_queues(struct command *c, const struct script_queue *queues, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        command_text(c, queues[i].name);
        command_number(c, queues[i].limit);
    }
}

static const char *name_or_null(const struct redisReply *r)
{
    return reply_kind(r) == REPLY_TEXT ? reply_text(r) : NULL;
}

/* A count: an integer that is not negative. */
static int read_count(const struct redisReply *r, uint64_t *n)
{
    *n = (uint64_t)reply_integer(r);
    return reply_kind(r) == REPLY_INTEGER && reply_integer(r) >= 0 ? MUSTER_OK : MUSTER_E_REDIS;
}

static int read_token(const struct redisReply *r, uint64_t *token)
{
    struct muster_bytes text = reply_bytes(r);
    return text.data && token_parse(text.data, text.len, token) == MUSTER_OK ? MUSTER_OK : MUSTER_E_REDIS;
}

void script_enqueue(struct command *c, const struct script_root *root, const struct script_enqueue *e)
{
    begin(c, SCRIPT_ENQUEUE, root);
    command_text(c, e->queue);
    command_text(c, e->front ? "1" : "0");
    command_text(c, e->request_id ? e->request_id : "");
    command_number(c, (int64_t)e->chunk);
    command_number(c, (int64_t)e->of);
    for (size_t i = 0; i < e->n; i++)
        command_bytes(c, e->tasks[i].data, e->tasks[i].len);
}

void script_start(struct command *c, const struct script_root *root, const struct script_start *start)
{
    begin(c, SCRIPT_START, root);
    command_text(c, start->worker);
    command_text(c, start->nonce);
    command_number(c, start->ttl_ms);
    command_number(c, start->hands);
    command_text(c, start->host);
    command_number(c, start->pid);
    command_text(c, MUSTER_VERSION);
    command_text(c, FORMAT_VERSION);
    command_text(c, start->permanent ? "1" : "0");
    command_text(c, start->resume ? "1" : "0");
}

int script_started(const struct redisReply *r, struct script_started *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    uint64_t epoch;
    if (read_token(reply_at(r, 1), &epoch) != MUSTER_OK)
        return MUSTER_E_REDIS;
    token_format(out->epoch, epoch);
    out->interval_ms = reply_integer(reply_at(r, 2));
    return out->interval_ms > 0 ? MUSTER_OK : MUSTER_E_REDIS;
}

void script_serve(struct command *c, const struct script_root *root, const struct script_caller *who,
                  const struct script_queue *queue)
{
    begin_as(c, SCRIPT_SERVE, root, who);
    add_queues(c, queue, 1);
}

void script_turn(struct command *c, const struct script_root *root, const struct script_caller *who, int want,
                 enum script_ends how, const struct script_queue *queues, size_t n)
{
    begin_as(c, SCRIPT_TURN, root, who);
    command_number(c, who->hands);
    command_number(c, want);
    command_text(c, how == ENDS_ONE_BY_ONE ? "1" : "0");
    command_number(c, (int64_t)n);
    add_queues(c, queues, n);
}

void script_end_group(struct command *c, const char *kind, const char *queue, size_t n)
{
    command_text(c, kind);
    command_text(c, queue);
    command_number(c, (int64_t)n);
}

void script_end_result(struct command *c, const char *queue, const char *token, struct muster_bytes result)
{
    command_text(c, "result");
    command_text(c, queue);
    command_text(c, token);
    command_bytes(c, result.data, result.len);
}

void script_end_done(struct command *c, const char *queue, const char *token)
{
    command_text(c, "done");
    command_text(c, queue);
    command_text(c, token);
}

void script_end_next(struct command *c, const char *queue, const char *token, const struct script_next *next)
{
    command_text(c, "next");
    command_text(c, queue);
    command_text(c, token);
    command_text(c, next->result ? "1" : "0");
    command_bytes(c, next->result ? next->result->data : "", next->result ? next->result->len : 0);
    command_text(c, next->queue);
    command_number(c, next->delay_ms);
    command_text(c, next->after);
}

void script_end_retry(struct command *c, const char *queue, const char *token, int64_t delay_ms, const char *group,
                      const char *message)
{
    command_text(c, "retry");
    command_text(c, queue);
    command_text(c, token);
    if (delay_ms >= 0)
        command_number(c, delay_ms);
    else
        command_text(c, "");
    command_text(c, group ? group : "");
    command_text(c, message ? message : "");
}

void script_end_fail(struct command *c, const char *queue, const char *token, const char *group, const char *message)
{
    command_text(c, "fail");
    command_text(c, queue);
    command_text(c, token);
    command_text(c, group);
    command_text(c, message);
}

void script_end(struct command *c, const struct script_root *root, const char *worker)
{
    begin(c, SCRIPT_END, root);
    command_text(c, worker);
}

#define TURN_HEAD 3
#define TURN_TAKE 3

int script_turned(const struct redisReply *r, struct script_turned *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    if (reply_len(r) < TURN_HEAD || (reply_len(r) - TURN_HEAD) % TURN_TAKE != 0)
        return MUSTER_E_REDIS;
    const struct redisReply *ends = reply_at(r, 1);
    if (reply_kind(ends) != REPLY_LIST && (reply_kind(ends) != REPLY_INTEGER || reply_integer(ends) != 0))
        return MUSTER_E_REDIS;
    out->ends = reply_kind(ends) == REPLY_LIST ? ends : NULL;
    out->damaged = name_or_null(reply_at(r, 2));
    out->n_takes = (reply_len(r) - TURN_HEAD) / TURN_TAKE;
    return MUSTER_OK;
}

int script_turned_take(const struct redisReply *r, size_t i, struct script_take *out)
{
    size_t at = TURN_HEAD + i * TURN_TAKE;
    long long place = reply_integer(reply_at(r, at));
    const struct redisReply *what = reply_at(r, at + 2);
    if (place == 0 || reply_kind(what) != REPLY_LIST)
        return MUSTER_E_REDIS;
    out->place = (size_t)(place > 0 ? place : -place) - 1;
    out->tasks = place > 0 ? what : NULL;
    out->job = place < 0 ? reply_text(reply_at(what, 0)) : NULL;
    out->record = place < 0 ? reply_at(what, 1) : NULL;
    if (place < 0 && !out->job)
        return MUSTER_E_REDIS;
    return read_token(reply_at(r, at + 1), &out->first_token);
}

void script_heartbeat(struct command *c, const struct script_root *root, const struct script_caller *who,
                      uint64_t registry_from, int64_t name_at, const struct script_queue *queues, size_t n)
{
    begin_as(c, SCRIPT_HEARTBEAT, root, who);
    command_number(c, who->hands);
    command_number(c, (int64_t)registry_from);
    if (name_at >= 0)
        command_number(c, name_at);
    else
        command_text(c, "");
    add_queues(c, queues, n);
}

/* Token and kind in turn. */
size_t script_marks(const struct redisReply *marks)
{
    return reply_len(marks) / 2;
}

int script_marked(const struct redisReply *marks, size_t i, struct script_mark *out)
{
    out->is_deleted = reply_is(reply_at(marks, 2 * i + 1), "d");
    return read_token(reply_at(marks, 2 * i), &out->token);
}

#define HEARD_HEAD 10

int script_heard(const struct redisReply *r, struct script_heard *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    if (reply_len(r) < HEARD_HEAD)
        return MUSTER_E_REDIS;
    out->interval_ms = reply_integer(reply_at(r, 1));
    out->work = reply_is(reply_at(r, 4), "1");
    out->looked_at = (uint64_t)reply_integer(reply_at(r, 5));
    out->next_name = reply_integer(reply_at(r, 6));
    out->damaged = name_or_null(reply_at(r, 7));
    out->marks = reply_at(r, 8);
    out->next_due_ms = reply_kind(reply_at(r, 9)) == REPLY_INTEGER ? reply_integer(reply_at(r, 9)) : HEARD_OTHER_KEEPER;
    out->n_dead = reply_len(r) - HEARD_HEAD;
    if (out->interval_ms <= 0 || read_count(reply_at(r, 2), &out->held) != MUSTER_OK)
        return MUSTER_E_REDIS;
    return read_token(reply_at(r, 3), &out->last_token);
}

const char *script_heard_dead(const struct redisReply *r, size_t i)
{
    return name_or_null(reply_at(r, HEARD_HEAD + i));
}

void script_readback(struct command *c, const struct script_root *root, const struct script_caller *who)
{
    begin_as(c, SCRIPT_READBACK, root, who);
}

#define READ_HEAD 3
#define READ_QUEUE 2

int script_read(const struct redisReply *r, struct script_read *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    if (reply_len(r) < READ_HEAD || (reply_len(r) - READ_HEAD) % READ_QUEUE != 0)
        return MUSTER_E_REDIS;
    out->marks = reply_at(r, 2);
    out->n_queues = (reply_len(r) - READ_HEAD) / READ_QUEUE;
    return read_token(reply_at(r, 1), &out->last_token);
}

const char *script_read_queue(const struct redisReply *r, size_t i, const struct redisReply **tokens)
{
    *tokens = reply_at(r, READ_HEAD + i * READ_QUEUE + 1);
    return name_or_null(reply_at(r, READ_HEAD + i * READ_QUEUE));
}

void script_sweep(struct command *c, const struct script_root *root, const char *worker, int forced)
{
    begin(c, SCRIPT_SWEEP, root);
    command_text(c, worker);
    command_text(c, forced ? "1" : "0");
}

void script_stop(struct command *c, const struct script_root *root, const struct script_caller *who)
{
    begin_as(c, SCRIPT_STOP, root, who);
}

int script_given_back(const struct redisReply *r, uint64_t *n, const char **damaged)
{
    int err = reply_status(r);
    *n = 0;
    *damaged = name_or_null(reply_at(r, 1));
    return err == MUSTER_OK ? read_count(reply_at(r, 1), n) : err;
}

void script_leave(struct command *c, const struct script_root *root, const struct script_caller *who, const char *queue)
{
    begin_as(c, SCRIPT_LEAVE, root, who);
    command_number(c, who->hands);
    command_text(c, queue);
}

int script_left(const struct redisReply *r, uint64_t *last_token, const char **damaged)
{
    int err = reply_status(r);
    *damaged = name_or_null(reply_at(r, 1));
    return err == MUSTER_OK ? read_token(reply_at(r, 1), last_token) : err;
}

void script_take(struct command *c, const struct script_root *root, const struct script_take_lease *take)
{
    begin(c, SCRIPT_TAKE, root);
    command_text(c, take->queue);
    command_number(c, (int64_t)take->n);
    command_number(c, take->lease_ms);
    command_text(c, take->waits ? "1" : "0");
}

#define LEASED_HEAD 5
#define LEASED_ONE 3

int script_leased(const struct redisReply *r, struct script_leased *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    out->next_due_ms = reply_integer(reply_at(r, 1));
    out->ends_at_ms = reply_integer(reply_at(r, 2));
    out->tasks = reply_at(r, 4);
    out->first_token = 0;
    out->n_more = reply_len(r) > LEASED_HEAD ? (reply_len(r) - LEASED_HEAD) / LEASED_ONE : 0;
    return reply_len(out->tasks) > 0 ? read_token(reply_at(r, 3), &out->first_token) : MUSTER_OK;
}

int script_leased_one(const struct redisReply *r, size_t i, struct script_leased_one *out)
{
    size_t at = LEASED_HEAD + i * LEASED_ONE;
    const struct redisReply *what = reply_at(r, at + 2);
    out->job = reply_is(reply_at(r, at + 1), "") ? NULL : reply_text(reply_at(r, at + 1));
    out->task = reply_bytes(what);
    out->record = what;
    if (reply_kind(what) != (out->job ? REPLY_LIST : REPLY_TEXT))
        return MUSTER_E_REDIS;
    return read_token(reply_at(r, at), &out->token);
}

void script_extend(struct command *c, const struct script_root *root, const char *worker, const char *token,
                   const char *queue, int64_t lease_ms, const char *note, const struct muster_bytes *data)
{
    begin(c, SCRIPT_EXTEND, root);
    command_text(c, worker);
    command_text(c, token);
    command_text(c, queue);
    if (lease_ms > 0)
        command_number(c, lease_ms);
    else
        command_text(c, "");
    command_text(c, note ? "1" : "0");
    command_text(c, note ? note : "");
    command_text(c, data ? "1" : "0");
    command_bytes(c, data ? data->data : "", data ? data->len : 0);
}

void script_cancel(struct command *c, const struct script_root *root, const char *queue, const char *holder,
                   struct muster_bytes what)
{
    begin(c, SCRIPT_CANCEL, root);
    command_text(c, queue);
    command_text(c, holder ? holder : "");
    command_bytes(c, what.data, what.len);
}

void script_queue_call(struct command *c, enum script_id id, const struct script_root *root, const char *queue)
{
    begin(c, id, root);
    command_text(c, queue);
}

int script_cancelled(const struct redisReply *r, uint64_t *waiting, uint64_t *running, int *is_more)
{
    int err = reply_status(r);
    if (is_more)
        *is_more = reply_integer(reply_at(r, 3)) == 1;
    if (err == MUSTER_OK)
        err = read_count(reply_at(r, 1), waiting);
    return err == MUSTER_OK ? read_count(reply_at(r, 2), running) : err;
}

void script_put(struct command *c, const struct script_root *root, const struct script_put *put)
{
    begin(c, SCRIPT_PUT, root);
    command_text(c, put->queue);
    command_text(c, put->id);
    command_text(c, put->replace ? "1" : "0");
    command_number(c, (int64_t)put->n_tags);
    command_number(c, (int64_t)put->n_after);
    for (size_t i = 0; i < put->n_tags; i++)
        command_text(c, put->tags[i]);
    for (size_t i = 0; i < put->n_after; i++)
        command_text(c, put->after[i]);
    for (size_t i = 0; i < put->n_fields; i++)
        script_change_field(c, put->fields[i].name, put->fields[i].value);
}

void script_change(struct command *c, const struct script_root *root, const char *id)
{
    begin(c, SCRIPT_CHANGE, root);
    command_text(c, id);
}

void script_change_field(struct command *c, const char *what, struct muster_bytes value)
{
    command_text(c, what);
    command_bytes(c, value.data, value.len);
}

void script_cancel_jobs(struct command *c, const struct script_root *root, const char *const *ids, size_t n,
                        int dependents)
{
    begin(c, SCRIPT_CANCEL_JOBS, root);
    command_text(c, dependents ? "1" : "0");
    for (size_t i = 0; i < n; i++)
        command_text(c, ids[i]);
}

int script_jobs_cancelled(const struct redisReply *r, uint64_t *n)
{
    int err = reply_status(r);
    return err == MUSTER_OK ? read_count(reply_at(r, 1), n) : err;
}

void script_fetch(struct command *c, const struct script_root *root, const char *worker, const char *token,
                  const char *queue)
{
    begin(c, SCRIPT_FETCH, root);
    command_text(c, worker);
    command_text(c, token);
    command_text(c, queue);
}

int script_fetched(const struct redisReply *r, const char **id, const struct redisReply **record)
{
    int err = reply_status(r);
    *id = name_or_null(reply_at(r, 1));
    *record = reply_at(r, 2);
    return err != MUSTER_OK ? err : *id && reply_kind(*record) == REPLY_LIST ? MUSTER_OK : MUSTER_E_REDIS;
}

void script_hand_on(struct command *c, const struct script_root *root, const char *worker, const char *queue)
{
    begin(c, SCRIPT_HAND_ON, root);
    command_text(c, worker);
    command_text(c, queue);
}

void script_promote(struct command *c, const struct script_root *root)
{
    begin(c, SCRIPT_PROMOTE, root);
}

int script_promoted(const struct redisReply *r, int64_t *next_ms)
{
    int err = reply_status(r);
    *next_ms = reply_integer(reply_at(r, 1));
    return err;
}

void script_config(struct command *c, const struct script_root *root, const char *queue, const char *name,
                   const int64_t *value)
{
    begin(c, SCRIPT_CONFIG, root);
    command_text(c, queue ? queue : "");
    command_text(c, name);
    if (value)
        command_number(c, *value);
    else
        command_text(c, "");
}

void script_failed(struct command *c, enum script_id id, const struct script_root *root,
                   const struct script_failed *which)
{
    begin(c, id, root);
    command_text(c, which->queue);
    command_text(c, which->group);
    command_number(c, (int64_t)which->n);
    command_number(c, (int64_t)which->from);
    for (size_t i = 0; i < which->n_entries; i++)
        command_text(c, which->entries[i]);
}

int script_failed_done(const struct redisReply *r, uint64_t *n, int64_t *rest)
{
    int err = reply_status(r);
    *rest = reply_integer(reply_at(r, 2));
    return err == MUSTER_OK ? read_count(reply_at(r, 1), n) : err;
}

static void begin_check(struct command *c, enum script_id id, const struct script_root *root, int repair)
{
    begin(c, id, root);
    command_text(c, repair ? "1" : "0");
}

void script_check_keys(struct command *c, const struct script_root *root, int repair)
{
    begin_check(c, SCRIPT_CHECK_KEYS, root, repair);
}

void script_check_key(struct command *c, struct muster_bytes key, const char *type, int64_t ttl_ms)
{
    command_bytes(c, key.data, key.len);
    command_text(c, type);
    command_number(c, ttl_ms);
}

void script_check_set(struct command *c, const struct script_root *root, int repair, const char *worker,
                      const char *queue)
{
    begin_check(c, SCRIPT_CHECK_SET, root, repair);
    command_text(c, worker);
    command_text(c, queue);
}

void script_check_worker(struct command *c, const struct script_root *root, int repair, const char *worker, int counts)
{
    begin_check(c, SCRIPT_CHECK_WORKER, root, repair);
    command_text(c, worker);
    command_text(c, counts ? "1" : "0");
}

void script_check_marks(struct command *c, const struct script_root *root, int repair, const char *worker,
                        size_t n_queues)
{
    begin_check(c, SCRIPT_CHECK_MARKS, root, repair);
    command_text(c, worker);
    command_number(c, (int64_t)n_queues);
}

void script_check_token(struct command *c, const struct script_root *root, int repair, uint64_t highest)
{
    begin_check(c, SCRIPT_CHECK_TOKEN, root, repair);
    command_number(c, (int64_t)highest);
}

void script_check_queue(struct command *c, const struct script_root *root, int repair, const char *queue, int counts)
{
    begin_check(c, SCRIPT_CHECK_QUEUE, root, repair);
    command_text(c, queue);
    command_text(c, counts ? "1" : "0");
}

void script_check_page(struct command *c, enum script_id id, const struct script_root *root, int repair,
                       const char *queue, int64_t from)
{
    begin_check(c, id, root, repair);
    command_text(c, queue);
    command_number(c, from);
}

void script_check_job(struct command *c, const struct script_root *root, int repair)
{
    begin_check(c, SCRIPT_CHECK_JOB, root, repair);
}

void script_check_dependents(struct command *c, const struct script_root *root, int repair, const char *id)
{
    begin_check(c, SCRIPT_CHECK_DEPENDENTS, root, repair);
    command_text(c, id);
}

void script_check_index(struct command *c, const struct script_root *root, int repair, const char *which,
                        const char *name, int64_t from)
{
    begin_check(c, SCRIPT_CHECK_INDEX, root, repair);
    command_text(c, which);
    command_text(c, name);
    command_number(c, from);
}

#define CHECKED_HEAD 2
#define CHECKED_FIND 3

int script_checked(const struct redisReply *r, struct script_checked *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    if (reply_len(r) < CHECKED_HEAD || (reply_len(r) - CHECKED_HEAD) % CHECKED_FIND != 0)
        return MUSTER_E_REDIS;
    const struct redisReply *besides = reply_at(r, 1);
    out->next = reply_integer(besides);
    out->token = 0;
    out->n_finds = (reply_len(r) - CHECKED_HEAD) / CHECKED_FIND;
    return reply_kind(besides) == REPLY_TEXT ? read_token(besides, &out->token) : MUSTER_OK;
}

int script_checked_find(const struct redisReply *r, size_t i, struct script_find *out)
{
    size_t at = CHECKED_HEAD + i * CHECKED_FIND;
    out->key = reply_bytes(reply_at(r, at));
    out->what = reply_bytes(reply_at(r, at + 1));
    out->repaired = reply_integer(reply_at(r, at + 2)) == 1;
    return out->key.data && out->what.data ? MUSTER_OK : MUSTER_E_REDIS;
}
