/* SPDX-License-Identifier: MIT
 *
 * Jobs under test: put with few words, and looked at by muster_job_get() and muster_job_list().
 */
#ifndef JOB_LOOK_H
#define JOB_LOOK_H

#include "protocol/process_name.h"
#include "scene.h"

#define JOB_SPEC(...) (&(struct muster_job_spec){.size = sizeof(struct muster_job_spec), __VA_ARGS__})
#define JOB_CHANGE(...) (&(struct muster_job_change){.size = sizeof(struct muster_job_change), __VA_ARGS__})
#define JOB_FILTER(...) (&(struct muster_job_filter){.size = sizeof(struct muster_job_filter), __VA_ARGS__})
#define BYTES(text)             \
    {                           \
        (text), sizeof text - 1 \
    }
#define IDS(...)          \
    (const char *const[]) \
    {                     \
        __VA_ARGS__       \
    }
#define N_IDS(...) IDS(__VA_ARGS__), sizeof IDS(__VA_ARGS__) / sizeof(const char *)

/* Put with the scene's client. */
void job_put(struct scene *s, const char *queue, const struct muster_job_spec *spec);
/* The same that is refused so; the client's words hold `words`. */
void job_not_put(struct scene *s, const char *queue, const struct muster_job_spec *spec, int err, const char *words);

/* The client's last words hold these. */
void assert_words(struct scene *s, const char *words);

/*
 * A job as it is told. Lists (tags, after, before) are sorted and joined, a blank after each; history as it is, "what"
 * or "what=text".
 */
struct job_seen {
    enum muster_job_state state;
    char queue[MUSTER_QUEUE_MAX + 1], worker[MUSTER_WORKER_ID_MAX + 1], process[PROCESS_ID_MAX];
    char data[64], group[MUSTER_GROUP_MAX + 1], message[128], result[64];
    char tags[512], after[512], before[512], history[4096];
    int priority, retries, retried, crashes, tracked, cancelled, backlog, has_result;
    int64_t put_at_ms, since_ms, due_at_ms, limit_ms, every_ms, from_ms;
    struct muster_backoff backoff;
    uint64_t made;
    size_t n_tags, n_history;
};
struct job_seen job_look(struct scene *s, const char *id);
bool job_is_there(struct scene *s, const char *id);
void assert_job_state(struct scene *s, const char *id, enum muster_job_state state);

/* The ids of the listed jobs, in this order, a blank after each. */
void assert_jobs_listed(struct scene *s, const struct muster_job_filter *f, const char *ids);
/* How many jobs of the queue are in this state. */
uint64_t job_count(struct scene *s, const char *queue, enum muster_job_state state);

/* Take one under a lease of a minute: it must be this job. Returns the process' id, which stays valid for seven more
 * calls. */
const char *job_take(struct scene *s, const char *queue, const char *id);

#endif
