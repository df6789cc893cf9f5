/* SPDX-License-Identifier: MIT
 *
 * Reads events.
 */
#include "protocol/events.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/frame.h"

/* ---- of a queue ---- */

/* "<length of process id>:<of task>:<of result, or - for none>:", then these three, and the name under which the process' lease was
 * taken, if there is one. */
static int read_done_parts(struct events_heard *out, struct muster_bytes rest)
{
    struct muster_bytes id_part, task, mark;
    size_t id_len, task_len, result_len = 0;
    if (frame_length(&rest, &id_len) != 0 || frame_length(&rest, &task_len) != 0)
        return -1;
    bool has_no_result = rest.len > 0 && *(const char *)rest.data == '-';
    if (has_no_result ? frame_field(&rest, &mark) != 0 || mark.len != 1 : frame_length(&rest, &result_len) != 0)
        return -1;
    if (frame_part(&rest, id_len, &id_part) != 0 || frame_part(&rest, task_len, &task) != 0 ||
        frame_part(&rest, result_len, &out->result) != 0 || frame_text(out->holder, sizeof out->holder, rest) != 0 ||
        (*out->holder && muster_worker_id_check(out->holder)))
        return -1;
    out->event.task = task.data;
    out->event.len = task.len;
    out->event.result = has_no_result ? NULL : &out->result;
    out->event.holder = *out->holder ? out->holder : NULL;
    return frame_text(out->process, sizeof out->process, id_part);
}

static int read_done(struct events_heard *out, struct muster_bytes message)
{
    if (read_done_parts(out, message) != 0 || process_name_parse(&out->name, out->process) ||
        strcmp(out->name.queue, out->event.queue) != 0)
        return -1;
    out->event.process = out->process;
    out->event.worker = out->name.worker;
    return 0;
}

static int read_cancelled(struct events_heard *out, struct muster_bytes message)
{
    out->event.task = message.data;
    out->event.len = message.len;
    return 0;
}

static int read_deleted(struct events_heard *out, struct muster_bytes message)
{
    const char *queue = out->event.queue;
    return message.len == strlen(queue) && memcmp(message.data, queue, message.len) == 0 ? 0 : -1;
}

static const struct {
    const char *what;
    int (*read)(struct events_heard *out, struct muster_bytes message);
} kinds[EVENTS_OF_QUEUE] = {
    [MUSTER_QUEUE_DONE] = {CHANNEL_DONE, read_done},
    [MUSTER_QUEUE_CANCELLED] = {CHANNEL_CANCEL, read_cancelled},
    [MUSTER_QUEUE_DELETED] = {CHANNEL_DELETE, read_deleted},
};

const char *events_what(enum muster_queue_event_type type)
{
    return kinds[type].what;
}

int events_read(struct events_heard *out, enum muster_queue_event_type type, const char *queue,
                struct muster_bytes message)
{
    out->event = (struct muster_queue_event){.type = type, .queue = queue};
    return message.data ? kinds[type].read(out, message) : -1;
}

/* ---- of a job ---- */

/* "what\tms\tqueue\tid\tworker\ttracked\ttext"; names hold no tabs. -1 if it is malformed. Puts NULs into `text`. */
int events_read_job(struct muster_job_event *event, char *text)
{
    enum { WHAT, AT, QUEUE, ID, WORKER, TRACKED, TEXT, FIELDS };
    const char *fields[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = i < TEXT ? strsep(&text, "\t") : text;
        if (!fields[i])
            return -1;
    }
    *event = (struct muster_job_event){.what = fields[WHAT],
                                       .id = fields[ID],
                                       .queue = fields[QUEUE],
                                       .worker = fields[WORKER],
                                       .text = fields[TEXT],
                                       .at_ms = strtoll(fields[AT], NULL, 10),
                                       .tracked = strcmp(fields[TRACKED], "1") == 0};
    bool has_queue = *event->queue || strncmp(event->what, "batch-", 6) == 0; /* a batch belongs to none */
    return muster_job_id_check(event->id) || !has_queue || (*event->queue && muster_queue_check(event->queue)) ? -1 : 0;
}
