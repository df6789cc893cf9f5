/* SPDX-License-Identifier: MIT
 *
 * Queues that share evenly (setting `share`): what this worker holds too much of such a queue moves to those who hold
 * too little. Each heartbeat brings how many of the queue run, and of how many hands; the worker compares that with
 * what it holds. Only if it holds too much or too little it calls the script `share`, which looks again, and reserves
 * moves. doc/decisions/shares.md has the rules.
 *
 * Design notes
 *
 *   1. A reservation is a text that only scripts read. It lies with the process until the process has gone, or stays:
 * then the next call gives it up. One that Redis does not hear of (the worker dies) lapses. One that the worker does
 *      not hear of, because the answer was lost, is said again by the next call.
 *   2. What has not begun moves first, then what has begun last.
 *   3. If the script had nothing to offer, it is not asked again before the figures change, or a tenth heartbeat: what
 *      stands in the way may be something that the figures do not show.
 */
#include "worker/share.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

/* A call offers so many processes; if all are wanted, another call follows. */
#define OFFERED_MAX 100

/* ---- the share ---- */

static uint64_t count_own(const struct muster_worker *w, const struct served *s)
{
    uint64_t n = 0;
    for (size_t i = 0; i < w->processes.n_buckets; i++)
        for (const struct muster_process *p = w->processes.buckets[i]; p; p = p->next_in_bucket)
            n += p->served == s;
    return n;
}

static bool holds_its_share(const struct muster_worker *w, const struct served *s, uint64_t mine,
                            struct script_share_figures figures)
{
    uint64_t own = s->limit > 0 && s->limit < w->hands ? (uint64_t)s->limit : (uint64_t)w->hands;
    if (figures.hands == 0 || figures.runs > UINT64_MAX / MUSTER_HANDS_MAX - 1)
        return true;
    uint64_t least = figures.runs * own / figures.hands;
    uint64_t most = (figures.runs * own + figures.hands - 1) / figures.hands;
    if (mine < least || mine > most || figures.notes & SHARE_LAPSED)
        return false;
    return !(figures.notes & SHARE_LACK && mine > least) && !(figures.notes & SHARE_OVER && mine < most);
}

bool share_is_even(const struct muster_worker *w, const struct served *s, struct script_share_figures figures)
{
    return holds_its_share(w, s, 0, figures); /* an idle worker probes, which holds nothing */
}

static bool may_share(const struct muster_worker *w, const struct served *s)
{
    return w->state == WORKER_WORKING && s->serving == SERVING && !w->fence.in_doubt && !resume_is_under_way(w) &&
           !suspect_keeps_hands(w);
}

/* Have the figures changed since the script was asked last? */
static bool is_news(const struct share *share, uint64_t mine, struct script_share_figures figures)
{
    return share->runs != figures.runs || share->hands != figures.hands || share->notes != figures.notes ||
           share->mine != mine;
}

static void look(struct muster_worker *w, struct served *s, struct script_share_figures figures)
{
    struct share *share = &s->share;
    uint64_t mine = count_own(w, s);
    if (!may_share(w, s) || holds_its_share(w, s, mine, figures))
        return;
    if (!is_news(share, mine, figures) && !share->asks_again && !w->heartbeat.is_tenth)
        return;
    share->runs = figures.runs;
    share->hands = figures.hands;
    share->notes = figures.notes;
    share->mine = mine;
    share->is_wanted = true;
    round_due(w);
}

static struct served *served_at(const struct muster_worker *w, size_t place)
{
    for (size_t i = 0; i < w->n_served; i++)
        if (serve_is_known(w->served[i]) && w->served[i]->share.place == place)
            return w->served[i];
    return NULL;
}

/* ---- reservations ---- */

/* Redis is told by the next call. Without memory it lapses there. */
static void give_up(struct muster_process *p)
{
    struct share *share = &p->served->share;
    char **wider = realloc(share->given_up, (share->n_given_up + 1) * sizeof *wider);
    if (wider)
        share->given_up = wider;
    if (wider && registration_is_there(p->worker))
        share->given_up[share->n_given_up++] = p->move;
    else
        free(p->move);
    p->move = NULL;
    share->is_wanted = true;
    round_due(p->worker);
}

void share_stay(struct muster_process *p, int64_t for_ms)
{
    int asked = MUSTER_STOP_MOVE;
    p->stays_until_ms = clock_in_ms(for_ms > 0 ? for_ms : MUSTER_STAY_DEFAULT_MS);
    if (!p->move)
        return;
    trace_line(TRACE_STATE, "process %s of %s: stays", p->token_text, p->served->name);
    atomic_store(&p->move_at_ms, 0);
    atomic_compare_exchange_strong(&p->stop_reason, &asked, MUSTER_GO_ON);
    give_up(p);
}

/* No answer in time. Its handler may still end: then it goes to any idle worker. */
static void give_up_late(struct muster_worker *w)
{
    struct muster_process *p;
    int64_t now_ms = clock_ms();
    for (size_t i = 0; i < w->processes.n_buckets; i++)
        for (p = w->processes.buckets[i]; p; p = p->next_in_bucket)
            if (p->move && process_is(p, IS_RUNNING) && now_ms >= atomic_load(&p->move_at_ms)) {
                p->stays_until_ms = now_ms + MUSTER_STAY_DEFAULT_MS;
                give_up(p);
            }
}

void share_moved(struct muster_process *p)
{
    figures_add(&p->worker->figures.moves_made, 1);
    trace_line(TRACE_STATE, "process %s of %s: given to worker %s", p->token_text, p->served->name,
               script_move_to(p->move));
    free(p->move);
    p->move = NULL;
}

void share_let_go(struct muster_process *p)
{
    if (p->move)
        give_up(p);
}

/* ---- the answer ---- */

static void begin_move(struct muster_process *p, const char *move, int64_t move_ms)
{
    struct muster_worker *w = p->worker;
    p->move = strdup(move);
    if (!p->move)
        return; /* it lapses */
    figures_add(&w->figures.moves_asked, 1);
    trace_line(TRACE_STATE, "process %s of %s: is to move to worker %s", p->token_text, p->served->name,
               script_move_to(move));
    atomic_store(&p->move_at_ms, clock_in_ms(move_ms));
    dispatch_call_off(w);
    if (process_is(p, IS_READY))
        end_unstarted(p);
    else if (process_is(p, IS_RUNNING))
        process_tell_stop(p, MUSTER_STOP_MOVE);
    else
        give_up(p); /* it has ended meanwhile */
}

static void drop_given_up(struct share *share, size_t n)
{
    if (n == 0)
        return; /* there may be no list */
    for (size_t i = 0; i < n; i++)
        free(share->given_up[i]);
    memmove(share->given_up, share->given_up + n, (share->n_given_up - n) * sizeof *share->given_up);
    share->n_given_up -= n;
}

struct asked {
    struct muster_worker *worker;
    struct served *served;
    struct life life;
    unsigned queue_life;
    size_t n_given_up;
    size_t n_offered;
};

static void apply(const struct asked *a, const struct redisReply *reply, const struct script_shared *answer)
{
    struct share *share = &a->served->share;
    tell_accepted(a->worker, REQUEST_SHARE);
    drop_given_up(share, a->n_given_up);
    share->was_unheard = false;
    share->asks_again = answer->asks_again;
    share->is_wanted |= share->n_given_up > 0 || (a->n_offered > 0 && answer->n_moves == a->n_offered);
    for (size_t i = 0; i < answer->n_moves; i++) {
        uint64_t token;
        const char *move = script_shared_move(reply, i, &token);
        struct muster_process *p = move ? process_find(a->worker, token) : NULL;
        if (p && p->served == a->served && !p->move)
            begin_move(p, move, answer->move_ms);
    }
    round_due(a->worker);
}

static void on_answer(const struct redisReply *reply, void *arg)
{
    struct asked a = *(struct asked *)arg;
    struct muster_worker *w = a.worker;
    struct script_shared answer;
    const char *damaged = NULL;
    free(arg);
    if (!registration_is_life(w, &a.life) || a.queue_life != a.served->share.life)
        return;
    a.served->share.in_flight = false;
    a.served->share.asks_again = true; /* unless the answer says otherwise */
    a.served->share.was_unheard |= !reply;
    if (!reply || !registration_is_there(w))
        return;
    int err = script_shared(reply, &answer, &damaged);
    if (err == MUSTER_OK)
        apply(&a, reply, &answer);
    else if (err == MUSTER_E_GONE)
        registration_gone(w);
    else if (err == MUSTER_E_STATE)
        connection_out_of_step(w);
    else if (damaged)
        tell_damaged(w, damaged);
    else
        tell_refused(w, REQUEST_SHARE, err, reply_text(reply));
}

/* ---- the call ---- */

static bool may_move(const struct muster_process *p, int64_t now_ms)
{
    return !p->move && !p->is_suspect && p->mark == MARK_NONE && p->stays_until_ms <= now_ms &&
           process_is(p, MAY_MOVE) && atomic_load(&p->stop_reason) == MUSTER_GO_ON;
}

static int by_what_it_costs(const void *a, const void *b)
{
    const struct muster_process *p = *(const struct muster_process *const *)a;
    const struct muster_process *q = *(const struct muster_process *const *)b;
    if (process_is(p, IS_RUNNING) != process_is(q, IS_RUNNING))
        return process_is(p, IS_RUNNING) ? 1 : -1;
    return p->token > q->token ? -1 : 1;
}

/* The tokens of what may move, the cheapest first; the caller frees. NULL: out of memory. */
static const char **list_offers(const struct muster_worker *w, const struct served *s, size_t *n)
{
    int64_t now_ms = clock_ms();
    size_t n_all = 0;
    struct muster_process **all = calloc(w->processes.n_known + 1, sizeof(struct muster_process *));
    const char **tokens = calloc(OFFERED_MAX, sizeof *tokens);
    bool may_any = all && tokens && may_share(w, s) && !executor_command_stays(s);
    for (size_t i = 0; may_any && i < w->processes.n_buckets; i++)
        for (struct muster_process *p = w->processes.buckets[i]; p; p = p->next_in_bucket)
            if (p->served == s && may_move(p, now_ms))
                all[n_all++] = p;
    if (all)
        qsort(all, n_all, sizeof(struct muster_process *), by_what_it_costs);
    *n = n_all < OFFERED_MAX ? n_all : OFFERED_MAX;
    for (size_t i = 0; i < *n; i++)
        tokens[i] = all[i]->token_text;
    free(all);
    return tokens;
}

static void ask(struct muster_worker *w, struct served *s)
{
    dispatch_call_off(w);
    struct command c = COMMAND_EMPTY;
    struct share *share = &s->share;
    struct asked *a = malloc(sizeof *a);
    size_t n = 0;
    const char **tokens = list_offers(w, s, &n);
    if (a && tokens) {
        *a = (struct asked){
            .worker = w, .served = s, .queue_life = share->life, .n_given_up = share->n_given_up, .n_offered = n};
        a->life = registration_life(w);
        script_share(&c, &w->root, &w->caller,
                     &(struct script_share){.queue = s->name,
                                            .was_unheard = share->was_unheard,
                                            .given_up = share->given_up,
                                            .n_given_up = share->n_given_up,
                                            .tokens = tokens,
                                            .n_tokens = n});
        share->in_flight = link_script(w->connection.data, &c, on_answer, a) == MUSTER_OK;
    }
    share->is_wanted = false;
    share->asks_again |= !share->in_flight;
    if (!share->in_flight)
        free(a);
    free(tokens);
    command_clear(&c);
}

void share_go_on(struct muster_worker *w)
{
    for (size_t i = 0; i < w->n_served; i++) {
        struct served *s = w->served[i];
        if (s->serving == SERVING && s->share.is_wanted && !s->share.in_flight && connection_can_call(w))
            ask(w, s);
    }
}

void share_apply_heartbeat(struct muster_worker *w, const struct redisReply *shares)
{
    struct script_share_figures figures;
    size_t place;
    for (size_t i = 0; i < w->n_served; i++)
        w->served[i]->share.is_on = false;
    give_up_late(w); /* also of a queue that is paused meanwhile, or shares no more */
    for (size_t i = 0; i < script_shares(shares); i++) {
        int err = script_share_of(shares, i, &place, &figures);
        struct served *s = err == MUSTER_OK ? served_at(w, place) : NULL;
        if (!s)
            continue;
        s->share.is_on = true;
        look(w, s, figures);
    }
}

/* ---- life ---- */

void share_forget(struct served *s)
{
    drop_given_up(&s->share, s->share.n_given_up);
    s->share.in_flight = s->share.is_wanted = s->share.is_on = s->share.asks_again = s->share.was_unheard = false;
    s->share.runs = s->share.hands = s->share.mine = 0;
    s->share.life++;
}

void share_free(struct served *s)
{
    share_forget(s);
    free(s->share.given_up);
}

/* ---- what the program calls ---- */

int64_t muster_process_move_ms(const struct muster_process *p)
{
    int64_t at_ms = atomic_load(&p->move_at_ms), now_ms = clock_ms();
    if (at_ms == 0)
        return -1;
    return at_ms > now_ms ? at_ms - now_ms : 0;
}

int muster_process_stay(struct muster_process *p, int64_t for_ms)
{
    const int64_t year_ms = INT64_C(366) * 24 * 3600 * 1000;
    if (!worker_is_own(p->worker))
        return MUSTER_E_STATE;
    if (for_ms < 0 || for_ms > year_ms)
        return MUSTER_E_INVALID;
    if (round_is_in_loop(p->worker))
        share_stay(p, for_ms);
    else
        posted_stay(p, for_ms);
    return MUSTER_OK;
}
