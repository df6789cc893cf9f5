/* SPDX-License-Identifier: MIT
 *
 * What was heard, on its way to the program. Beyond the bound nothing is kept, until half of it is free again.
 */
#include "async/listener_box.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "async/listener.h"
#include "base/log.h"
#include "base/sized.h"

/* One block, with all that `heard` points to behind it. */
struct listener_item {
    struct listener_item *next;
    size_t weight;
    struct muster_heard heard;
    struct muster_bytes result;
    struct muster_job_event job;
    char bytes[];
};

/* ---- copying ---- */

/* Either counts, or copies to `at`. */
struct copying {
    char *at;
    size_t size;
};

static const void *copy_bytes(struct copying *c, const void *data, size_t len)
{
    c->size += len + 1;
    if (!c->at || !data)
        return NULL;
    char *copy = c->at;
    memcpy(copy, data, len);
    copy[len] = '\0';
    c->at += len + 1;
    return copy;
}

static const char *copy_text(struct copying *c, const char *text)
{
    return text ? copy_bytes(c, text, strlen(text)) : NULL;
}

/* With an item to copy to, or NULL: then it only counts. */
static void copy_all(struct copying *c, const struct muster_heard *from, struct listener_item *to)
{
    struct listener_item counted, *item = to ? to : &counted;
    item->heard = *from;
    item->heard.queue = copy_text(c, from->queue);
    item->heard.text = copy_text(c, from->text);
    item->heard.process = copy_text(c, from->process);
    item->heard.worker = copy_text(c, from->worker);
    item->heard.holder = copy_text(c, from->holder);
    item->heard.task = from->task ? copy_bytes(c, from->task, from->len) : NULL;
    if (from->result) {
        item->result = (struct muster_bytes){
            copy_bytes(c, from->result->data ? from->result->data : "", from->result->len), from->result->len};
        item->heard.result = &item->result;
    }
    if (from->job) {
        item->job = *from->job;
        item->job.what = copy_text(c, from->job->what);
        item->job.id = copy_text(c, from->job->id);
        item->job.queue = copy_text(c, from->job->queue);
        item->job.worker = copy_text(c, from->job->worker);
        item->job.text = copy_text(c, from->job->text);
        item->heard.job = &item->job;
    }
}

static struct listener_item *new_item(const struct muster_heard *heard)
{
    struct copying count = {.at = NULL};
    copy_all(&count, heard, NULL);
    struct listener_item *item = calloc(1, sizeof *item + count.size);
    if (!item)
        return NULL;
    struct copying copy = {.at = item->bytes};
    copy_all(&copy, heard, item);
    item->weight = count.size;
    return item;
}

/* ---- the library's thread ---- */

static void set_readable(struct listener_box *b)
{
    const uint64_t one = 1;
    ssize_t written = write(b->fd, &one, sizeof one);
    (void)written;
}

static bool fits(const struct listener_box *b, const struct listener_item *item)
{
    return !b->is_over && b->n < b->max_n && (b->n == 0 || b->bytes + item->weight <= b->max_bytes);
}

bool listener_box_put(struct listener_box *b, const struct muster_heard *heard, enum listener_room room)
{
    struct listener_item *item = new_item(heard);
    pthread_mutex_lock(&b->lock);
    bool is_put = item && (room == LISTENER_ALWAYS || fits(b, item));
    if (is_put) {
        if (!b->first)
            set_readable(b);
        *b->end = item;
        b->end = &item->next;
        b->n++;
        b->bytes += item->weight;
    } else {
        b->is_over = true;
    }
    pthread_mutex_unlock(&b->lock);
    if (!is_put)
        free(item);
    return is_put;
}

bool listener_box_has_room(struct listener_box *b)
{
    pthread_mutex_lock(&b->lock);
    b->is_over = b->is_over && b->n > 0; /* if there was no memory, there may be nothing that somebody could take */
    bool has_room = !b->is_over;
    pthread_mutex_unlock(&b->lock);
    return has_room;
}

/* ---- the thread that takes ---- */

static void free_items(struct listener_item *items)
{
    for (struct listener_item *next; items; items = next) {
        next = items->next;
        free(items);
    }
}

/* Up to `max` of them, as a list. *is_free: there is room again, which there was not. */
static struct listener_item *take(struct listener_box *b, size_t max, bool *is_free)
{
    struct listener_item *all = NULL, **end = &all;
    uint64_t notes;
    pthread_mutex_lock(&b->lock);
    for (; max > 0 && b->first; max--) {
        *end = b->first;
        b->first = b->first->next;
        b->n--;
        b->bytes -= (*end)->weight;
        end = &(*end)->next;
    }
    *end = NULL;
    if (!b->first) {
        b->end = &b->first;
        ssize_t got = read(b->fd, &notes, sizeof notes);
        (void)got;
    }
    *is_free = b->is_over && b->n <= b->max_n / 2 && b->bytes <= b->max_bytes / 2;
    b->is_over = b->is_over && !*is_free;
    pthread_mutex_unlock(&b->lock);
    return all;
}

size_t muster_listener_next(struct muster_listener *l, struct muster_heard *out, size_t max)
{
    size_t n = 0;
    bool is_free;
    if (max == 0 || async_thread_check(l->owner) != MUSTER_OK)
        return 0;
    const char *why = sized_clear(SIZED_HEARD, out);
    if (why) {
        log_line(MUSTER_LOG_ERROR, "muster_listener_next: %s: nothing is handed out", why);
        return 0;
    }
    const size_t stride = out->size;
    free_items(l->box.handed);
    l->box.handed = take(&l->box, max, &is_free);
    if (is_free)
        listener_wake(l);
    for (const struct listener_item *item = l->box.handed; item; item = item->next, n++) {
        void *to = (char *)out + n * stride;
        memcpy(to, &stride, sizeof stride);
        sized_clear(SIZED_HEARD, to);
        sized_write(SIZED_HEARD, to, &item->heard);
    }
    return n;
}

int muster_listener_fd(struct muster_listener *l)
{
    return l->box.fd;
}

/* ---- its life ---- */

int listener_box_init(struct listener_box *b)
{
    pthread_mutex_init(&b->lock, NULL);
    b->end = &b->first;
    b->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return b->fd >= 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}

void listener_box_clear(struct listener_box *b)
{
    free_items(b->first);
    free_items(b->handed);
    if (b->fd >= 0)
        close(b->fd);
    pthread_mutex_destroy(&b->lock);
}
