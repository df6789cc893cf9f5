/* SPDX-License-Identifier: MIT
 *
 * Processes: tasks and jobs in this worker's hands, from their arrival until Redis has confirmed their end.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <muster/worker.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "protocol/job_record.h"
#include "worker/follow.h"
#include "worker/serve.h"

struct event;
struct outbox_item;

/* What a state means: one answer to each question. A rule asks for these (process_is() and the like) and names no
 * state, but where it moves a process into one. So a new state has answered every rule, or does not compile. */
enum process_answer {
    /* Who has it? */
    LACKS_BYTES = 1 << 0, /* nobody: they may still be on the way */
    IS_READY = 1 << 1,    /* nobody: for a hand, or for the end of a doubt */
    IS_OFFERED = 1 << 2,  /* the program may take it, or has taken it just now */
    IS_RUNNING = 1 << 3,  /* its handler: it can be told to stop, and counts for max_tasks, a time limit and a drain */
    IS_OVER = 1 << 4,     /* nobody any more, or it goes back without having begun */
    IS_UNTOUCHED = LACKS_BYTES | IS_READY,

    /* Does it take a hand of its worker, and of its queue? */
    NO_HAND = 0,
    HAS_HAND = 1 << 5,

    /* May it move to another worker? */
    STAYS = 0,
    MAY_MOVE = 1 << 6,

    /* Does it keep a suspect from beginning? For what runs only Redis can tell. */
    LETS_BEGIN = 0,
    BARS = 1 << 7,

    /* What becomes of its end? */
    NO_END = 0,
    IS_HELD = 1 << 12,    /* what it follows must be there first: follow.c */
    IS_DUE = 1 << 8,      /* it must be sent */
    IS_SENT = 1 << 9,     /* it was, and is not confirmed yet */
    IS_REFUSED = 1 << 10, /* Redis refuses it, or what it followed; the next heartbeat retries */
    IS_LEFT = 1 << 11     /* the process goes back with the rest, when its queue or the worker is left */
};

/* The life of a process here. Each state has a list of its own, in the order in which processes entered it; the list of
 * the running ones is rotated when they are told to stop. */
#define PROCESS_STATES(X)                                                             \
    X(PROCESS_FETCHING, "known", LACKS_BYTES, NO_HAND, STAYS, LETS_BEGIN, NO_END)     \
    X(PROCESS_READY, "ready", IS_READY, NO_HAND, MAY_MOVE, LETS_BEGIN, NO_END)        \
    X(PROCESS_OFFERED, "offered", IS_OFFERED, HAS_HAND, STAYS, BARS, NO_END)          \
    X(PROCESS_RUNNING, "running", IS_RUNNING, HAS_HAND, MAY_MOVE, LETS_BEGIN, NO_END) \
    X(PROCESS_HELD, "held", IS_OVER, NO_HAND, STAYS, BARS, IS_HELD)                   \
    X(PROCESS_ENDED, "ended", IS_OVER, NO_HAND, STAYS, BARS, IS_DUE)                  \
    X(PROCESS_SENT, "sent", IS_OVER, NO_HAND, STAYS, BARS, IS_SENT)                   \
    X(PROCESS_REFUSED, "refused", IS_OVER, NO_HAND, STAYS, LETS_BEGIN, IS_REFUSED)    \
    X(PROCESS_LEFT, "left", IS_OVER, NO_HAND, STAYS, LETS_BEGIN, IS_LEFT)

#define PROCESS_ANSWERS(who, hand, move, alone, end) \
    ((unsigned)(who) | (unsigned)(hand) | (unsigned)(move) | (unsigned)(alone) | (unsigned)(end))

enum process_state {
#define PROCESS_ENUM(name, text, who, hand, move, alone, end) name,
    PROCESS_STATES(PROCESS_ENUM)
#undef PROCESS_ENUM
        PROCESS_STATES_COUNT
};

enum process_kind { PROCESS_TASK, PROCESS_JOB };

/* It was cancelled, or its queue was deleted: unless it finishes, it is dropped. */
enum mark { MARK_NONE, MARK_DELETED, MARK_CANCELLED };

struct muster_process {
    struct muster_worker *worker;
    struct served *served;
    enum process_state state;
    enum process_kind kind;
    uint64_t token;
    char token_text[TOKEN_LEN + 1];
    _Atomic(char *) id;     /* NULL until somebody asks for it */
    struct job_record *job; /* NULL: a task, or a job whose record was not fetched yet */
    char *task;             /* the bytes. A job's lie in its record */
    size_t len;
    enum mark mark;
    bool has_begun;   /* a handler has had it */
    bool is_later;    /* its handler answered MUSTER_LATER, or it has none: the program ends it */
    bool is_suspect;  /* it may have killed its last holder: suspect.c */
    bool is_put_off;  /* a suspect that a damaged key keeps from beginning, until the next heartbeat */
    bool is_disowned; /* it runs on, but belongs to somebody else: its end is not sent */
    bool is_by_next;  /* it was offered to the program: executor_next.c */
    bool has_items;   /* it has had some; the loop's */
    bool is_ended;    /* its own command has ended it, and is left to exit: ended.c */
    enum muster_outcome ended_as;
    bool sent_before;       /* its end was sent before, or Redis did not name it any more */
    bool is_accounted;      /* its end was counted among the figures */
    unsigned n_broken;      /* connections that ended because of it: too_large.c */
    bool lacked_memory;     /* the last of them for want of memory here */
    unsigned fetch_pause;   /* for that: heartbeats between two tries, with others beside it; 0: there was none */
    unsigned fetch_in;      /* so many are left; 0: nothing is waited for */
    bool may_have_counted;  /* its end was sent, the answer was lost, and Redis has not named it since */
    uint64_t last_readback; /* the number of the last read-back that named it */
    atomic_int stop_reason; /* enum muster_stop_reason */
    int64_t began_us;       /* when its handler began */
    int64_t ended_us;       /* when it returned with an end; 0: whoever ends the process looks at the clock */
    struct child *child;    /* executor_command.c's; NULL: none */
    _Atomic(void *) user;   /* the program's */

    /* Its end, as the handler wants it. */
    enum muster_outcome outcome;
    int64_t retry_delay_ms; /* -1: none was set */
    char *group;            /* of a failure */
    char *message;
    char *result; /* NULL: none */
    size_t result_len;
    char *next;       /* the queue that a job goes on to; NULL: none */
    char *next_after; /* ids, each followed by a line feed */
    int64_t next_delay_ms;

    /* follow.c */
    size_t handed_on;       /* by its handler, and not answered yet */
    uint64_t follows;       /* its end comes after all that was handed on up to this number */
    uint64_t follows_calls; /* so many calls that were left for the loop are carried out first */
    struct follow_refusal refusals[FOLLOW_SOURCES];
    bool is_refused;         /* one of them says something */
    struct follow_told told; /* when muster_process_end() was called */

    /* extend.c: a note is under way, and the next one; and its job's newest data, until Redis has them */
    bool is_note_sent;
    char *next_note;
    char *data; /* NULL: it has */
    size_t data_len;
    uint64_t data_number;
    enum { DATA_DUE, DATA_SENT, DATA_REFUSED } data_stage;
    unsigned n_data_breaks;
    size_t data_too_large; /* so many bytes of it are too many for this Redis; 0: they are not */

    /* share.c */
    char *move;                 /* its reservation: it is to move to another worker; NULL: none */
    _Atomic int64_t move_at_ms; /* until when that holds, by the local clock; 0: it was not asked */
    int64_t stays_until_ms;     /* it is not asked before */

    /* limit.c */
    struct event *limit_timer; /* NULL: it never had a limit */
    int64_t limit_near_ms;     /* when the program is warned; 0: it was */
    int64_t limit_at_ms;

    /* posted.c: what other threads have said of it. They write under posted's lock; once the process is off the list,
     * the loop owns it. */
    atomic_int end_called; /* muster_process_end() counts once */
    atomic_int posted;     /* bits of enum posted_what */
    enum muster_outcome handler_outcome;
    enum muster_outcome end_outcome;
    char *note;
    struct muster_bytes new_data; /* NULL data: none */
    int64_t extend_ms;
    int64_t stay_ms;
    bool is_end_posted;
    TAILQ_ENTRY(muster_process) in_posted;

    struct muster_process *next_returned;
    struct muster_process *next_in_outbox;
    struct outbox_item *items; /* events about it that wait, the last one first; under the outbox's lock */
    struct outbox_item *end;   /* kept for the event that tells of its end; NULL: nobody waits for that */

    /* executor_threads.c: its place for the threads; and what a thread runs, because the queue may be left and served
     * again with another handler meanwhile. */
    uint32_t in_ring;
    bool is_ahead;               /* it is ready, and a thread may begin it by itself */
    _Atomic int64_t taken_at_us; /* 0: no thread has it. For the outbox, too */
    muster_handler_fn *handler;
    void *handler_arg;
    TAILQ_ENTRY(muster_process) in_list;
    struct muster_process *next_in_bucket;
};
TAILQ_HEAD(process_list, muster_process);

/* All processes of a worker: process.c, but for two counts. */
struct processes {
    struct process_list list[PROCESS_STATES_COUNT];
    size_t count[PROCESS_STATES_COUNT];
    struct muster_process **buckets; /* by token, without those that are disowned */
    size_t n_buckets;
    size_t n_known;    /* in the buckets */
    size_t n_disowned; /* they run on and occupy their hands */
    uint64_t n_begun;  /* handlers started, ever: dispatch.c */
    size_t n_children; /* child processes that run: executor_command.c */
};

/* So many are in a state with one of these answers. Each dispatch asks: inline, only the counts of the states that are
 * meant remain of a question. */
static inline size_t processes_that(const struct processes *all, unsigned answers)
{
#define STATE_COUNT(name, text, ...) +(PROCESS_ANSWERS(__VA_ARGS__) & answers ? all->count[name] : 0)
    return 0 PROCESS_STATES(STATE_COUNT);
#undef STATE_COUNT
}

/* ---- process.c ---- */
int process_new_table(struct muster_worker *w);
void process_free_table(struct muster_worker *w);
struct muster_process *process_find(struct muster_worker *w, uint64_t token);
size_t process_known_upto(const struct muster_worker *w, uint64_t token);
/* A new process, in state FETCHING without bytes; NULL if memory ran out. */
struct muster_process *process_add(struct muster_worker *w, struct served *s, uint64_t token, enum process_kind kind);
int process_set_task(struct muster_process *p, struct muster_bytes task);
/* The job that it is: `record` as a script answered it. */
int process_set_job(struct muster_process *p, const char *id, const struct redisReply *record);
void process_move(struct muster_process *p, enum process_state state);
/* Is one of these the answer of its state? process_count() says of how many (worker.h). And all of these, state by state
 * in their order; of none that was freed, or moved away, the next one can be asked for. */
bool process_is(const struct muster_process *p, unsigned answers);
struct muster_process *process_first(const struct muster_worker *w, unsigned answers);
struct muster_process *process_last(const struct muster_worker *w, unsigned answers);
struct muster_process *process_next(const struct muster_process *p, unsigned answers);
#define PROCESS_EACH(p, w, answers) for ((p) = process_first(w, answers); (p); (p) = process_next(p, answers))
/* The last one that is offered is no longer: it is the first of those that are ready again. */
void process_call_back(struct muster_process *p);
void process_free(struct muster_process *p);
/* How many processes the worker may still hold by max_tasks, including those that run. */
uint64_t process_allowed(const struct muster_worker *w);

/* The process runs on here, but belongs to somebody else from now on. */
void process_disown(struct muster_process *p);
/* Sets its stop reason, unless it has one other than to move, and tells handler and program. The program may end it
 * while it is told. */
void process_tell_stop(struct muster_process *p, enum muster_stop_reason reason);
/* The same for each running process for which is_meant() answers true; NULL: for all. */
typedef bool process_filter(const struct muster_process *p, const void *arg);
void process_tell_running(struct muster_worker *w, enum muster_stop_reason reason, process_filter *is_meant,
                          const void *arg);

/* ---- end.c ---- */
/* Its handler has ended. */
void end_by_handler(struct muster_process *p, enum muster_outcome outcome);
/* Its worker's drain is over, or its queue is left: what goes back now goes with all the rest, in its place. */
bool end_is_leaving(const struct muster_process *p);
/* What its end follows has been answered. */
void end_follows(struct muster_process *p);
/* No handler has had it: it goes back. */
void end_unstarted(struct muster_process *p);
/* Its bytes cannot be fetched: it fails. */
void end_unfetched(struct muster_process *p);
/* The same for all that are ready. Those whose bytes are on the way go back when these are here: accept.c. */
void end_all_unstarted(struct muster_worker *w);
/* Its end has counted: the process is forgotten. */
void end_counted(struct muster_process *p);
/* What was to go back has gone back with the rest: of this queue, or of all for NULL. */
void end_went_back(struct muster_worker *w, const struct served *s);
/* The worker has stopped: ends that have not counted by now never do, and the program is told. */
void end_tell_rest(struct muster_worker *w);
/* Its end does not count, or nobody knows: the program is told, and the process forgotten. */
void end_uncounted(struct muster_process *p, int err);
/* The registration is gone: none of them is this worker's any more. */
void end_lose_all(struct muster_worker *w);

#endif
