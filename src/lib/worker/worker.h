/* SPDX-License-Identifier: MIT
 *
 * What the files of the worker runtime share: its structures, and which file answers for what.
 *
 *   worker.c            the worker's life: states, connections, new and free
 *   serve.c             the queues it serves, and the inline executor
 *   leave.c             serving a queue no more
 *   produce.c           enqueueing over the worker's own connection
 *   stop.c              stopping: drain, and the moment to deregister; of itself, when there is nothing more to do
 *   heartbeat.c         registration, heartbeat, fence, sweep, leaving
 *   probe.c              the heartbeat of an idle worker, in plain commands

 *   timer_keeper.c      moving what is due, if this worker is the one that keeps the timer
 *   wake.c              the subscription's messages, and the read-back
 *   turn.c              what ended and what can be taken, one script call at the end of a turn of the loop
 *   marks.c             which processes were cancelled, and what is done about it
 *   limit.c             time limits
 *   process.c           the table of processes, starting handlers, their outcomes
 *   process_calls.c     what a program asks of a process and says about it
 *   executor_command.c  child processes as handlers
 *   executor_threads.c  handlers on a pool of threads, and outcomes that other threads hand back
 */
#ifndef WORKER_H
#define WORKER_H

#include <muster/worker.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "protocol/job_record.h"
#include "protocol/keys.h"
#include "protocol/scripts.h"
#include "redis/link.h"

struct event;

/* X(state, name) in the order of a life. */
#define WORKER_STATES(X)                 \
    X(WORKER_NEW, "new")                 \
    X(WORKER_CONNECTING, "connecting")   \
    X(WORKER_REGISTERING, "registering") \
    X(WORKER_WORKING, "working")         \
    X(WORKER_DRAINING, "draining")       \
    X(WORKER_LEAVING, "leaving")         \
    X(WORKER_STOPPED, "stopped")

enum worker_state {
#define STATE_ENUM(name, text) name,
    WORKER_STATES(STATE_ENUM)
#undef STATE_ENUM
};

/* The life of a process here. Each state has a list of its own, in the order of arrival. */
#define PROCESS_STATES(X)                                                                     \
    X(PROCESS_FETCHING, "known")  /* its token is known, its bytes may still be on the way */ \
    X(PROCESS_READY, "ready")     /* waits for a hand, or for the end of a doubt */           \
    X(PROCESS_RUNNING, "running") /* its handler has it */                                    \
    X(PROCESS_ENDED, "ended")     /* its outcome is to be sent */                             \
    X(PROCESS_SENT, "sent")       /* its outcome is on the way */                             \
    X(PROCESS_REFUSED, "refused") /* a damaged key refuses its outcome; sent again after the next heartbeat */

/* What a worker says to Redis, X(what, text): a refusal is told once, until the same is accepted again. */
#define SAYINGS(X)                        \
    X(SAID_START, "registering")          \
    X(SAID_SERVE, "serving a queue")      \
    X(SAID_HEARTBEAT, "the heartbeat")    \
    X(SAID_READBACK, "the read-back")     \
    X(SAID_FETCH, "fetching a task")      \
    X(SAID_TURN, "a turn")                \
    X(SAID_SWEEP, "a sweep")              \
    X(SAID_NOTE, "a progress note")       \
    X(SAID_DATA, "new data of a job")     \
    X(SAID_PROMOTE, "moving what is due") \
    X(SAID_LEAVE, "leaving a queue")      \
    X(SAID_STOP, "deregistering")

enum saying {
#define SAYING_ENUM(name, text) name,
    SAYINGS(SAYING_ENUM)
#undef SAYING_ENUM
};

enum process_state {
#define PROCESS_ENUM(name, text) name,
    PROCESS_STATES(PROCESS_ENUM)
#undef PROCESS_ENUM
        PROCESS_STATES_COUNT
};

struct served;
struct command_setup;
struct child;
struct pool;

/* How handlers of a queue are run. `start` ends with process_ended(), at once or later. */
struct executor {
    void (*start)(struct muster_process *p);
    void (*tell_stop)(struct muster_process *p); /* its stop reason was set; may be NULL */
    void (*abandon)(struct muster_process *p);   /* the worker is freed under it; may be NULL */
    void (*clear)(struct served *s);             /* frees what serve made; may be NULL */
};

enum serving {
    SERVING,
    LEAVING, /* nothing of it starts any more */
    LEFT     /* may be served again; the structure stays, for handlers that still run point to it */
};

/* A queue that the worker serves, or has served. */
struct served {
    char name[MUSTER_QUEUE_MAX + 1];
    enum serving serving;
    int limit, running;
    int announced, announcing; /* Redis knows, in this epoch; has been asked to */
    int told, leave_sent;      /* LEAVING: its handlers were told; the script is on its way */
    uint64_t dropped_upto;     /* hand-overs up to this token are void: given back when it was left */
    const struct executor *executor;
    muster_handler_fn *handler;
    void *handler_arg;
    struct command_setup *command;
};

/* What threads have posted of a process, for the loop to see to; bits. */
enum posted {
    POSTED_NOTHING = 0,
    POSTED_RETURNED = 1, /* its handler has returned */
    POSTED_ENDED = 2,    /* muster_process_end() was called */
    POSTED_NOTE = 4,     /* muster_process_progress() */
    POSTED_EXTENDED = 8, /* muster_process_extend() */
    POSTED_DATA = 16     /* muster_process_set_data() */
};

/* What a look asks, in this order; those of a queue for each queue. */
enum look_step {
    LOOK_RENEW,    /* the liveness key lasts a ttl from now on */
    LOOK_RECORD,   /* the life is this one, over this connection, and its hands are empty */
    LOOK_TIME,     /* what Redis' clock says */
    LOOK_BEAT,     /* nobody need note a heartbeat */
    LOOK_PACE,     /* the shortest ttl is still the same */
    LOOK_REGISTRY, /* its time there is later now */
    LOOK_DEAD,     /* nobody is past his end */
    LOOK_SETTINGS, /* of a queue: nothing is due, no job waits */
    LOOK_WAITING,  /* of a queue: no work */
    LOOK_IDLE,     /* of a queue: it is known as idle */
    LOOK_ECHO
};
/* With more queues a heartbeat goes by script. */
#define LOOK_QUEUES_MAX 10
#define LOOK_STEPS_MAX (8 + 3 * LOOK_QUEUES_MAX)

/* Cancelled, or its queue was deleted: whatever but a finish becomes of it, it is dropped. */
enum mark { MARK_NONE, MARK_DELETED, MARK_CANCELLED };

struct muster_process {
    struct muster_worker *worker;
    struct served *served;
    enum process_state state;
    uint64_t token;
    char token_text[TOKEN_LEN + 1];
    int is_job;             /* known before its record is */
    struct job_record *job; /* NULL: a task, or not fetched yet */
    char *task;             /* a job's data lie in its record */
    size_t len;
    char *id;       /* made when asked for */
    int has_begun;  /* a handler has had it */
    int is_later;   /* its handler answered LATER */
    int is_foreign; /* of a former epoch: its end is nobody's business any more */
    int sent_before;
    enum mark mark;
    uint64_t seen; /* the last read-back that named it */
    enum muster_outcome outcome;
    int64_t retry_delay_ms; /* -1: none was set */
    char *group, *message;
    char *result; /* NULL: none */
    size_t result_len;
    char *next, *next_after; /* the queue that a job goes on to, NULL: none; ids with a line feed behind each */
    int64_t next_delay_ms;
    struct event *limit_timer; /* NULL: no limit yet */
    int64_t limit_near_ms, limit_at_ms;
    atomic_int stop_reason;
    atomic_int end_called; /* muster_process_end(): once */
    struct child *child;
    /* under the pool's lock, while it is with a thread */
    int posted;
    enum muster_outcome handler_outcome, end_outcome;
    char *note;
    struct muster_bytes new_data; /* NULL data: none */
    int64_t extend_ms;
    int is_ended;
    TAILQ_ENTRY(muster_process) in_pool;
    TAILQ_ENTRY(muster_process) in_list;
    struct muster_process *next_in_bucket;
};
TAILQ_HEAD(process_list, muster_process);
TAILQ_HEAD(posted_list, muster_process);

struct muster_worker {
    char prefix[MUSTER_PREFIX_MAX + 1];
    char id[MUSTER_WORKER_ID_MAX + 1];
    struct script_root root;
    int ttl_ms, hands, prefetch, permanent, resume, drain_ms, burst, in_turn;
    uint64_t max_tasks;
    int64_t limit_ms;
    enum muster_outcome on_limit;
    muster_event_fn *on_event;
    void *arg;

    struct event_base *base;
    int own_base;
    enum worker_state state;
    char error[512];
    int result; /* what muster_worker_run() returns */

    /* connections */
    struct link *data, *subscription;
    int subscribed;                   /* all channels are confirmed */
    int data_down, subscription_down; /* told as an event */

    /* registration */
    struct script_caller who; /* who.epoch is empty: not registered */
    char nonce[17];
    int starting;    /* start is on the way */
    int synced;      /* this data connection was announced by a read-back */
    int was_started; /* once, successfully */

    /* heartbeat.c */
    struct event *beat_timer, *fence_timer;
    int64_t interval_ms, confirmed_at_ms, beat_sent_ms;
    int beating, fenced;
    uint64_t registry_from, beats;
    int64_t name_at;
    int tidies; /* the heartbeat on its way looks at a queue name */
    struct {
        int waits; /* for its echo */
        uint64_t token, held, ended_since;
    } heard;
    uint64_t echo_token;
    int64_t last_message_ms;

    /* probe.c */
    struct {
        enum look_step steps[LOOK_STEPS_MAX];
        size_t n, n_answered;
        int does, misses; /* as far as it was answered; looks in a row that did not do */
        int renews;       /* the last heartbeat was a look that did, so Redis' time is known */
        int paused;       /* the queue whose answers come */
        int64_t now_ms;   /* Redis' clock; and how far it was ahead of the local one at its answer */
        int64_t ahead_ms;
        char key[KEY_MAX]; /* until the command is sent */
    } look;

    /* timer_keeper.c */
    struct event *due_timer;
    int keeps_timer, promoting, promote_again, handing_on;
    int64_t inline_ms; /* how long the last inline handler held up the loop */
    int64_t due_at_ms; /* by the local clock; -1: nothing is due */

    /* wake.c */
    int reading, read_again, unfence_after;
    uint64_t read_count, dropped_upto;
    struct event *work_timer;
    int64_t last_hint_ms;

    /* turn.c */
    struct event *turner, *retry_timer;
    int hungry, turns, asked, turner_due;
    unsigned refused_told; /* a bit per saying */
    int damaged_told;
    int state_hands_due; /* Redis must learn of a lower capacity */
    size_t turn_from;    /* in_turn: the queue that the next take begins with */

    /* marks.c: of processes that are not known yet */
    struct early_mark {
        uint64_t token;
        enum mark mark;
    } * early;
    size_t n_early, early_size;

    /* process.c */
    struct process_list lists[PROCESS_STATES_COUNT];
    size_t counts[PROCESS_STATES_COUNT];
    size_t foreign;   /* running, of a former epoch or of a queue that was left */
    uint64_t n_begun; /* handlers started, ever */
    struct muster_process **buckets;
    size_t n_buckets, n_known;
    struct event *dispatcher;
    int dispatch_due, dispatching;
    size_t children;
    struct pool *pool;
    int threads;
    pthread_t loop_thread; /* known before any handler runs */

    /* serving */
    struct served **served;
    size_t n_served, n_leaving;

    /* stopping */
    int wake_fd; /* eventfd: the note of muster_worker_stop() */
    struct event *waker, *drain_timer;
    atomic_llong stop_wish_ms; /* the shortest drain time asked for, -1: none */
    int64_t leave_before_ms;
    int leave_sent, drain_over, had_children;

    /* freeing inside a callback */
    int depth, free_due, running_loop;
    struct event *reaper;
};

/* ---- worker.c ---- */
void worker_enter(struct muster_worker *w, enum worker_state state);
/* Tell the program. `text` and `process` may be NULL. */
void worker_tell(struct muster_worker *w, enum muster_event_type type, int err, const char *text,
                 struct muster_process *process);
/* The same of a queue, and a task's bytes if there are any. */
void worker_tell_of(struct muster_worker *w, enum muster_event_type type, const char *queue, struct muster_bytes task);
/* Around every callback of the program. */
void worker_enter_callback(struct muster_worker *w);
void worker_leave_callback(struct muster_worker *w);
void worker_stopped(struct muster_worker *w, int err);
int worker_is_registered(const struct muster_worker *w);
/* Registered, working or draining, and this data connection may be used for all calls. */
int worker_can_call(const struct muster_worker *w);
/* How many processes Redis may put into its hands. */
int worker_capacity(const struct muster_worker *w);
/* Redis knows another connection number than this one: begin like a new connection, with a higher one. Several calls of
 * the old number may be refused; only the first one counts. */
void worker_out_of_step(struct muster_worker *w);
/* Redis refused something, or a key is damaged: told once, until it is well again. `key` NULL: all is well. */
void worker_refused(struct muster_worker *w, enum saying what, int err, const char *text);
void worker_accepted(struct muster_worker *w, enum saying what);
void worker_damaged(struct muster_worker *w, const char *key);

/* ---- serve.c ---- */
struct served *serve_find(struct muster_worker *w, const char *queue, size_t len);
/* Tell Redis of those queues that it does not know of yet, in this epoch. */
void serve_announce(struct muster_worker *w);
/* Announced queues in the wanted order, beginning with the one at `from`; the caller frees. NULL: out of memory. */
struct script_queue *serve_queues(const struct muster_worker *w, size_t from, struct served ***served, size_t *n);
/* Does Redis know of all that it serves? */
int serve_all_announced(const struct muster_worker *w);

/* ---- leave.c ---- */
/* Whatever can be done now about queues that are being left. */
void leave_go_on(struct muster_worker *w);
/* The registration is gone: there is nothing left to give back. */
void leave_gone(struct muster_worker *w);

/* ---- marks.c ---- */
/* As a message of marks or an answer's list has them; tokens that are not known yet are kept for later. */
void marks_note(struct muster_worker *w, uint64_t token, enum mark mark);
void marks_list(struct muster_worker *w, const struct redisReply *marks);
/* The mark that came before the process. */
enum mark marks_early(struct muster_worker *w, uint64_t token);
/* Whatever has a token up to this one is known by now, or never will be. */
void marks_forget(struct muster_worker *w, uint64_t upto);
void marks_free(struct muster_worker *w);

/* ---- limit.c ---- */
/* From now on; 0: none any more. */
void limit_set(struct muster_process *p, int64_t limit_ms);
void limit_clear(struct muster_process *p);

/* ---- stop.c ---- */
int stop_is_wished(const struct muster_worker *w);
/* Stop after an error that no waiting mends; `text` says what. */
void stop_give_up(struct muster_worker *w, int err, const char *text);
void stop_begin_drain(struct muster_worker *w);
/* Something ended: is it time to leave? */
void stop_check_drained(struct muster_worker *w);
/* burst: a take found nothing. Is there nothing else to do? */
void stop_check_burst(struct muster_worker *w);
/* max_tasks: were all started, and have ended? */
void stop_check_max(struct muster_worker *w);
/* Wake the loop, from any thread: something was left for it. */
void stop_wake(struct muster_worker *w);
int stop_new_events(struct muster_worker *w);

/* ---- heartbeat.c ---- */
void heartbeat_register(struct muster_worker *w);
void heartbeat_now(struct muster_worker *w);
/* Soon again: something was refused. */
void heartbeat_retry(struct muster_worker *w);
void heartbeat_stop(struct muster_worker *w);
/* A refused or unanswered call says that the registration is gone: all is lost, register anew. */
void heartbeat_gone(struct muster_worker *w);
/* The echo of a heartbeat came over the subscription. */
void heartbeat_echo(struct muster_worker *w, uint64_t token);
void heartbeat_count_ended(struct muster_worker *w, uint64_t token);
/* May a handler start? Compared at every start, not left to a timer. */
int heartbeat_is_fenced(struct muster_worker *w);
void heartbeat_unfence(struct muster_worker *w);
void heartbeat_leave(struct muster_worker *w);
/* All of a look was answered, or it was cut off; it does, or something asks for the script. */
void heartbeat_looked(struct muster_worker *w, int is_answered, int does);
int heartbeat_new_events(struct muster_worker *w);

/* ---- probe.c ---- */
/* Is a look worth trying, by what the worker knows? */
int look_may_do(const struct muster_worker *w);
/* heartbeat_looked() follows. 0: nothing was sent. */
int look_begin(struct muster_worker *w);

/* ---- timer_keeper.c ---- */
/* A heartbeat says how long until something is due, or that another worker keeps the timer: see struct script_heard. */
void timer_keeper_heard(struct muster_worker *w, int64_t next_due_ms);
/* Something is due earlier than all before; or this worker has just become the keeper. */
void timer_keeper_sooner(struct muster_worker *w);
void timer_keeper_stop(struct muster_worker *w);
/* An inline handler is about to begin on a process of this queue. */
void timer_keeper_before_handler(struct muster_worker *w, const char *queue);
int timer_keeper_new_events(struct muster_worker *w);

/* ---- wake.c ---- */
int wake_subscribe(struct muster_worker *w);
/* The announcements of one more queue. */
int wake_subscribe_queue(struct muster_worker *w, const char *queue);
void wake_message(struct muster_worker *w, const char *channel, struct muster_bytes message);
void wake_read_back(struct muster_worker *w);
int wake_new_events(struct muster_worker *w);

/* ---- turn.c ---- */
/* There is something to say, or to take: at the end of this turn of the loop. */
void turn_due(struct muster_worker *w);
void turn_hungry(struct muster_worker *w);
/* So much has ended that it makes a call of its own: sent at once, so that Redis works on it while handlers go on. */
void turn_if_full(struct muster_worker *w);
/* No timer of it is to come any more. */
void turn_forget(struct muster_worker *w);
int turn_new_events(struct muster_worker *w);

/* ---- process.c ---- */
struct muster_process *process_find(struct muster_worker *w, uint64_t token);
/* A new process, in state FETCHING without bytes; NULL if memory ran out. */
struct muster_process *process_add(struct muster_worker *w, struct served *s, uint64_t token);
int process_set_task(struct muster_process *p, struct muster_bytes task);
/* The job that it is: `record` as a script answered it. */
int process_set_job(struct muster_process *p, const char *id, const struct redisReply *record);
void process_move(struct muster_process *p, enum process_state state);
void process_free(struct muster_process *p);
/* Its handler has ended. */
void process_ended(struct muster_process *p, enum muster_outcome outcome);
/* One that no handler has had: back with it. */
void process_give_back(struct muster_process *p);
void process_tell_stop(struct muster_process *p, enum muster_stop_reason reason);
void process_tell_all_stop(struct muster_worker *w, enum muster_stop_reason reason);
/* It runs on here, but is somebody else's from now on. */
void process_disown(struct muster_process *p);
/* How many more may be held, by max_tasks. */
uint64_t process_allowed(const struct muster_worker *w);
/* Its end was refused: told, and forgotten. */
void process_uncounted(struct muster_process *p, int err);
void process_dispatch(struct muster_worker *w);
/* The registration is gone: none of them is this worker's any more. */
void process_lose_all(struct muster_worker *w);
size_t process_known_upto(const struct muster_worker *w, uint64_t token);
int process_new_table(struct muster_worker *w);
void process_free_table(struct muster_worker *w);

/* ---- process_calls.c ---- */
/* Sends its progress note. */
void process_send_note(struct muster_process *p, const char *note);
/* Sends its job's new data. */
void process_send_data(struct muster_process *p, struct muster_bytes data);

/* ---- executor_threads.c ---- */
extern const struct executor executor_threads;
/* With 0 threads it only carries outcomes that other threads post. */
int pool_new(struct muster_worker *w, int threads);
/* Waits for the handlers that run. */
void pool_free(struct muster_worker *w);
void pool_post_end(struct muster_process *p, enum muster_outcome outcome);
/* `note`, and the bytes of `data`, are the pool's from now on. */
void pool_post_note(struct muster_process *p, char *note);
void pool_post_data(struct muster_process *p, struct muster_bytes data);
void pool_post_extension(struct muster_process *p, int64_t limit_ms);
/* It is freed: forget what was posted of it. */
void pool_forget(struct muster_process *p);
void pool_take_posted(struct muster_worker *w);

/* ---- executor_command.c ---- */
/* Looks the program up and copies the command; the served queue runs it from then on. `why` gets words on an error. */
int command_setup(struct served *s, const struct muster_command *command, char *why, size_t size);

#endif
