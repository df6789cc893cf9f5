/* SPDX-License-Identifier: MIT
 *
 * What a message says, and who hears it.
 */
#include <stdlib.h>
#include <string.h>

#include "async/listener.h"
#include "protocol/events.h"

/* ---- of a queue ---- */

static const struct {
    int kind;
    enum muster_heard_type type;
} of_queue[EVENTS_OF_QUEUE] = {
    [MUSTER_QUEUE_DONE] = {MUSTER_LISTEN_DONE, MUSTER_HEARD_DONE},
    [MUSTER_QUEUE_CANCELLED] = {MUSTER_LISTEN_CANCELLED, MUSTER_HEARD_CANCELLED},
    [MUSTER_QUEUE_DELETED] = {MUSTER_LISTEN_DELETED, MUSTER_HEARD_DELETED},
};

static void hear_queue(struct muster_listener *l, struct listener_ear *ear, enum muster_queue_event_type type,
                       struct muster_bytes message)
{
    struct events_heard event;
    if (!(ear->kinds & of_queue[type].kind) || events_read(&event, type, ear->queue, message) != 0)
        return;
    const struct muster_heard heard = {.type = of_queue[type].type,
                                       .queue = ear->queue,
                                       .process = event.event.process,
                                       .worker = event.event.worker,
                                       .holder = event.event.holder,
                                       .task = event.event.task,
                                       .len = event.event.len,
                                       .result = event.event.result};
    listener_ear_hears(l, ear, &heard);
}

/* "<channels>_<queue>_<what>"; a queue's name may have underscores, too. */
static void hear_of_queue(struct muster_listener *l, const char *channel, struct muster_bytes message)
{
    const size_t root = strlen(l->root.channels);
    const char *what = strrchr(channel, '_');
    if (!what || strncmp(channel, l->root.channels, root) != 0 || channel[root] != '_' || what == channel + root)
        return;
    const char *queue = channel + root + 1;
    struct listener_ear *ear = listener_ear_find(l, queue, (size_t)(what - queue));
    for (int type = 0; ear && type < EVENTS_OF_QUEUE; type++)
        if (strcmp(what + 1, events_what((enum muster_queue_event_type)type)) == 0)
            hear_queue(l, ear, (enum muster_queue_event_type)type, message);
}

/* ---- of jobs ---- */

/* Of whichever queue: nobody can read which one it is. */
static void drop_job(struct muster_listener *l)
{
    for (size_t i = 0; i < l->ears.n; i++)
        if (listener_ear_is_of_jobs(l->ears.all[i]))
            listener_ear_drops(l, l->ears.all[i]);
}

/* One who listens to the queue and to all jobs hears it once; if it cannot be kept, both have missed it. */
static void hear_job(struct muster_listener *l, struct muster_bytes message)
{
    struct muster_job_event event;
    char *text = message.data ? strndup(message.data, message.len) : NULL;
    if (message.data && !text)
        drop_job(l);
    if (!text || events_read_job(&event, text) != 0) {
        free(text);
        return;
    }
    struct listener_ear *own = *event.queue ? listener_ear_find(l, event.queue, strlen(event.queue)) : NULL;
    struct listener_ear *all = listener_ear_find(l, NULL, 0);
    if (own && !listener_ear_is_of_jobs(own))
        own = NULL;
    const struct muster_heard heard = {.type = MUSTER_HEARD_JOB, .queue = event.queue, .job = &event};
    struct listener_ear *first = own ? own : all;
    if (first)
        listener_ear_hears(l, first, &heard);
    if (own && all && own->is_dropping)
        listener_ear_drops(l, all);
    free(text);
}

void listener_hear(struct muster_listener *l, const char *channel, struct muster_bytes message)
{
    char jobs[CHANNEL_MAX];
    key_events(jobs, l->root.channels);
    if (!channel)
        return;
    if (strcmp(channel, jobs) == 0)
        hear_job(l, message);
    else
        hear_of_queue(l, channel, message);
}
