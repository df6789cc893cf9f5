/* SPDX-License-Identifier: MIT
 *
 * Scripts of a worker's life and turns, and of keeping the timer.
 */
#include "protocol/script_worker.h"

#include <muster/version.h>
#include <string.h>

#include "base/format.h"
#include "protocol/script_private.h"

void script_start(struct command *c, const struct script_root *root, const struct script_start *start)
{
    script_begin(c, SCRIPT_START, root);
    command_text(c, start->worker);
    command_text(c, start->nonce);
    command_number(c, start->ttl_ms);
    command_number(c, start->hands);
    command_text(c, start->host);
    command_number(c, start->pid);
    command_text(c, MUSTER_VERSION);
    command_text(c, FORMAT_VERSION);
    script_add_flag(c, start->permanent);
    script_add_flag(c, start->resume);
}

int script_started(const struct redisReply *r, struct script_started *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    uint64_t epoch;
    if (script_read_token(reply_at(r, 1), &epoch) != MUSTER_OK)
        return MUSTER_E_REDIS;
    token_format(out->epoch, epoch);
    out->interval_ms = script_read_number(reply_at(r, 2));
    if (out->interval_ms <= 0)
        return MUSTER_E_REDIS;
    return script_read_count(reply_at(r, 3), &out->to_take_up);
}

void script_serve(struct command *c, const struct script_root *root, const struct script_caller *caller,
                  const struct script_queue *queue, int hands)
{
    script_begin_as(c, SCRIPT_SERVE, root, caller);
    script_add_queues(c, queue, 1);
    command_number(c, hands);
}

/* ---- turn ---- */

void script_turn(struct command *c, const struct script_root *root, const struct script_caller *caller,
                 const struct script_turn *turn)
{
    script_begin_as(c, SCRIPT_TURN, root, caller);
    command_number(c, caller->hands);
    command_number(c, turn->want);
    script_add_flag(c, turn->how == ENDS_ONE_BY_ONE);
    command_number(c, (int64_t)turn->n_queues);
    script_add_queues(c, turn->queues, turn->n_queues);
}

#define TURN_HEAD 4
#define TURN_TAKE 4

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
    out->damaged = script_read_name(reply_at(r, 2));
    out->is_more = reply_integer(reply_at(r, 3)) == 1;
    out->is_full = reply_integer(reply_at(r, 3)) == 2;
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
    out->place = (size_t)(place > 0 ? place - 1 : -(place + 1));
    out->tasks = place > 0 ? what : NULL;
    out->job = place < 0 ? reply_text(reply_at(what, 0)) : NULL;
    out->record = place < 0 ? reply_at(what, 1) : NULL;
    out->is_suspect = reply_integer(reply_at(r, at + 3)) == 1;
    if (place < 0 && !out->job)
        return MUSTER_E_REDIS;
    return script_read_token(reply_at(r, at + 1), &out->first_token);
}

/* ---- heartbeat ---- */

void script_heartbeat(struct command *c, const struct script_root *root, const struct script_caller *caller,
                      uint64_t registry_from, bool notes_names, const struct script_queue *queues, size_t n)
{
    script_begin_as(c, SCRIPT_HEARTBEAT, root, caller);
    command_number(c, caller->hands);
    command_number(c, (int64_t)registry_from);
    command_text(c, notes_names ? "1" : "");
    script_add_queues(c, queues, n);
}

#define HEARD_HEAD 11

int script_heard(const struct redisReply *r, struct script_heard *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    if (reply_len(r) < HEARD_HEAD)
        return MUSTER_E_REDIS;
    out->interval_ms = script_read_number(reply_at(r, 1));
    out->work = reply_is(reply_at(r, 4), "1");
    out->n_past = reply_count(reply_at(r, 5));
    out->damaged = script_read_name(reply_at(r, 6));
    out->marks = reply_at(r, 7);
    out->next_due_ms =
        reply_kind(reply_at(r, 8)) == REPLY_INTEGER ? script_read_number(reply_at(r, 8)) : HEARD_OTHER_KEEPER;
    out->shares = reply_at(r, 9);
    out->n_ears = reply_count(reply_at(r, 10));
    out->n_dead = reply_len(r) - HEARD_HEAD;
    if (out->interval_ms <= 0 || script_read_count(reply_at(r, 2), &out->held) != MUSTER_OK)
        return MUSTER_E_REDIS;
    return script_read_token(reply_at(r, 3), &out->last_token);
}

const char *script_heard_dead(const struct redisReply *r, size_t i)
{
    return script_read_name(reply_at(r, HEARD_HEAD + i));
}

/* Tokens and kinds in turn. */
size_t script_marks(const struct redisReply *marks)
{
    return reply_len(marks) / 2;
}

int script_marked(const struct redisReply *marks, size_t i, struct script_mark *out)
{
    out->is_deleted = reply_is(reply_at(marks, 2 * i + 1), "d");
    return script_read_token(reply_at(marks, 2 * i), &out->token);
}

/* ---- shares ---- */

#define SHARE_FIGURES 4

size_t script_shares(const struct redisReply *shares)
{
    return reply_len(shares) / SHARE_FIGURES;
}

int script_share_of(const struct redisReply *shares, size_t i, size_t *place, struct script_share_figures *out)
{
    size_t at = i * SHARE_FIGURES;
    long long number = reply_number(reply_at(shares, at), 0);
    long long runs = reply_number(reply_at(shares, at + 1), -1), hands = reply_number(reply_at(shares, at + 2), -1);
    if (number <= 0 || runs < 0 || hands < 0)
        return MUSTER_E_REDIS;
    *place = (size_t)(number - 1);
    *out =
        (struct script_share_figures){(uint64_t)runs, (uint64_t)hands, (int)reply_number(reply_at(shares, at + 3), 0)};
    return MUSTER_OK;
}

void script_share(struct command *c, const struct script_root *root, const struct script_caller *caller,
                  const struct script_share *share)
{
    script_begin_as(c, SCRIPT_SHARE, root, caller);
    command_text(c, share->queue);
    script_add_flag(c, share->was_unheard);
    command_number(c, (int64_t)share->n_given_up);
    for (size_t i = 0; i < share->n_given_up; i++)
        command_text(c, share->given_up[i]);
    for (size_t i = 0; i < share->n_tokens; i++)
        command_text(c, share->tokens[i]);
}

#define SHARED_HEAD 3

int script_shared(const struct redisReply *r, struct script_shared *out, const char **damaged)
{
    int err = reply_status(r);
    *damaged = err == MUSTER_E_REDIS ? script_read_name(reply_at(r, 1)) : NULL;
    if (err != MUSTER_OK)
        return err;
    out->asks_again = reply_integer(reply_at(r, 1)) == 1;
    out->move_ms = script_read_number(reply_at(r, 2));
    out->n_moves = reply_len(r) > SHARED_HEAD ? reply_len(r) - SHARED_HEAD : 0;
    return out->move_ms > 0 ? MUSTER_OK : MUSTER_E_REDIS;
}

const char *script_shared_move(const struct redisReply *r, size_t i, uint64_t *token)
{
    const char *move = reply_text(reply_at(r, SHARED_HEAD + i));
    if (!move || strlen(move) < TOKEN_LEN || token_parse(move, TOKEN_LEN, token) != MUSTER_OK)
        return NULL;
    return move;
}

const char *script_move_to(const char *move)
{
    const char *last = strrchr(move, ':');
    return last ? last + 1 : move;
}

/* ---- readback ---- */

void script_readback(struct command *c, const struct script_root *root, const struct script_caller *caller)
{
    script_begin_as(c, SCRIPT_READBACK, root, caller);
}

#define READ_HEAD 4
#define READ_QUEUE 2

int script_read(const struct redisReply *r, struct script_read *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    if (reply_len(r) < READ_HEAD || (reply_len(r) - READ_HEAD) % READ_QUEUE != 0)
        return MUSTER_E_REDIS;
    out->marks = reply_at(r, 2);
    out->own_ends = reply_at(r, 3);
    out->n_queues = (reply_len(r) - READ_HEAD) / READ_QUEUE;
    return script_read_token(reply_at(r, 1), &out->last_token);
}

size_t script_own_ends(const struct redisReply *own_ends)
{
    return reply_len(own_ends) / 2;
}

int script_own_end(const struct redisReply *own_ends, size_t i, struct script_own_end *out)
{
    struct muster_bytes letter = reply_bytes(reply_at(own_ends, 2 * i + 1));
    out->letter = letter.len == 1 ? *(const char *)letter.data : '\0';
    return script_read_token(reply_at(own_ends, 2 * i), &out->token);
}

const char *script_read_queue(const struct redisReply *r, size_t i, const struct redisReply **tokens)
{
    *tokens = reply_at(r, READ_HEAD + i * READ_QUEUE + 1);
    return script_read_name(reply_at(r, READ_HEAD + i * READ_QUEUE));
}

/* ---- what a former life left ---- */

void script_take_up(struct command *c, const struct script_root *root, const struct script_caller *caller,
                    const struct script_queue *queues, size_t n)
{
    script_begin_as(c, SCRIPT_TAKE_UP, root, caller);
    for (size_t i = 0; i < n; i++)
        command_text(c, queues[i].name);
}

#define GIVEN_BACK_PAIR 2

int script_taken_up(const struct redisReply *r, struct script_taken_up *out, const char **damaged)
{
    int err = reply_status(r);
    *damaged = err == MUSTER_E_REDIS ? script_read_name(reply_at(r, 1)) : NULL;
    if (err != MUSTER_OK)
        return err;
    const struct redisReply *back = reply_at(r, 3);
    out->is_more = reply_integer(reply_at(r, 2)) == 1;
    out->n_given_back = reply_len(back) / GIVEN_BACK_PAIR;
    return reply_kind(back) == REPLY_LIST ? script_read_count(reply_at(r, 1), &out->moved) : MUSTER_E_REDIS;
}

const char *script_taken_up_given_back(const struct redisReply *r, size_t i, uint64_t *n)
{
    const struct redisReply *back = reply_at(r, 3);
    const char *queue = script_read_name(reply_at(back, i * GIVEN_BACK_PAIR));
    return script_read_count(reply_at(back, i * GIVEN_BACK_PAIR + 1), n) == MUSTER_OK ? queue : NULL;
}

/* ---- suspects ---- */

void script_begin_alone(struct command *c, const struct script_root *root, const struct script_caller *caller,
                        const struct script_begin_alone *begin)
{
    script_begin_as(c, SCRIPT_BEGIN_ALONE, root, caller);
    command_text(c, begin->queue);
    command_text(c, begin->token);
    command_number(c, begin->what);
    for (size_t i = 0; i < begin->n_running; i++)
        command_text(c, begin->running[i]);
}

/* ---- the end ---- */

void script_sweep(struct command *c, const struct script_root *root, const char *worker, enum script_sweep whether)
{
    script_begin(c, SCRIPT_SWEEP, root);
    command_text(c, worker);
    script_add_flag(c, whether == SWEEP_FORCED);
}

int script_swept(const struct redisReply *r, struct script_swept *out, const char **damaged)
{
    struct script_swept swept = {0};
    int err = script_given_back(r, &swept.given_back, damaged);
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 2), &swept.crashed);
    *out = err == MUSTER_OK ? swept : (struct script_swept){0};
    return err;
}

void script_stop(struct command *c, const struct script_root *root, const struct script_caller *caller)
{
    script_begin_as(c, SCRIPT_STOP, root, caller);
}

int script_given_back(const struct redisReply *r, uint64_t *n, const char **damaged)
{
    int err = reply_status(r);
    *n = 0;
    *damaged = script_read_name(reply_at(r, 1));
    return err == MUSTER_OK ? script_read_count(reply_at(r, 1), n) : err;
}

void script_leave(struct command *c, const struct script_root *root, const struct script_caller *caller,
                  const char *queue)
{
    script_begin_as(c, SCRIPT_LEAVE, root, caller);
    command_number(c, caller->hands);
    command_text(c, queue);
}

int script_left(const struct redisReply *r, uint64_t *last_token, const char **damaged)
{
    int err = reply_status(r);
    *damaged = script_read_name(reply_at(r, 1));
    return err == MUSTER_OK ? script_read_token(reply_at(r, 1), last_token) : err;
}

/* ---- the timer ---- */

void script_hand_on(struct command *c, const struct script_root *root, const char *worker, const char *queue)
{
    script_begin(c, SCRIPT_HAND_ON, root);
    command_text(c, worker);
    command_text(c, queue);
}
