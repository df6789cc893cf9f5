/* SPDX-License-Identifier: MIT
 *
 * A command may end its own process, by `muster finish "$MUSTER_PROCESS"` for example, and go on for a while. Then it
 * is left to exit by itself: its exit status means nothing any more. The worker learns it by a message, by the next
 * read-back, or by the answer to the end that the exit status has meant.
 */
#include "base/log.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

static enum muster_outcome outcome_of(char letter)
{
    return letter == 'b'   ? MUSTER_GIVE_BACK
           : letter == 'r' ? MUSTER_RETRY
           : letter == 'x' ? MUSTER_FAIL
                           : MUSTER_FINISH;
}

static const char *const words[] = {[MUSTER_FINISH] = "finished",
                                    [MUSTER_GIVE_BACK] = "given back",
                                    [MUSTER_RETRY] = "retried",
                                    [MUSTER_FAIL] = "failed"};

/* The hand that it runs on is not free, and Redis counts it no more. */
static void let_run_on(struct muster_process *p)
{
    process_disown(p);
    p->worker->turns.must_state_hands = true;
    round_due(p->worker);
}

static void tell(struct muster_process *p, const char *how)
{
    trace_line(TRACE_STATE, "process %s of %s: ended by its own command", p->token_text, p->served->name);
    tell_event(p->worker, MUSTER_EVENT_ENDED, MUSTER_OK, how, p);
}

void ended_tell(struct muster_process *p)
{
    if (p->worker->tell_ended && p->has_begun && !p->is_ended)
        tell_event(p->worker, MUSTER_EVENT_ENDED, MUSTER_OK, words[p->outcome], p);
}

/* If it has exited already, what its exit status has meant need not be said. The program may end the process inside its
 * callback, so a running one is not touched afterwards. */
static void note(struct muster_process *p, char letter)
{
    dispatch_call_off(p->worker);
    if (!p->has_begun || p->is_ended)
        return;
    p->is_ended = true;
    p->ended_as = outcome_of(letter);
    if (process_is(p, IS_RUNNING))
        let_run_on(p);
    bool has_exited = process_is(p, IS_HELD | IS_DUE);
    tell(p, words[p->ended_as]);
    if (has_exited)
        ended_exit(p);
}

void ended_note(struct muster_worker *w, uint64_t token, char letter)
{
    struct muster_process *p = process_find(w, token);
    if (p)
        note(p, letter);
}

void ended_note_list(struct muster_worker *w, const struct redisReply *own_ends)
{
    struct script_own_end end;
    for (size_t i = 0; i < script_own_ends(own_ends); i++)
        if (script_own_end(own_ends, i, &end) == MUSTER_OK)
            ended_note(w, end.token, end.letter);
}

void ended_settle(struct muster_process *p)
{
    if (p->is_ended)
        p->outcome = p->ended_as;
    else
        tell(p, NULL); /* nobody here knows how */
    p->is_ended = true;
    end_counted(p);
}

void ended_exit(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    p->outcome = p->ended_as;
    end_counted(p);
    turn_want_take(w); /* a hand is free again */
}
