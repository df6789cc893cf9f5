/* SPDX-License-Identifier: MIT
 *
 * Listening to a queue under test.
 */
#include "listening.h"

#include <stdlib.h>
#include <string.h>

#include "taken.h"

static void say_bytes(FILE *out, const void *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = ((const unsigned char *)data)[i];
        fprintf(out, c > 0x20 && c < 0x7f ? "%c" : "\\%02x", c);
    }
}

static int note_event(const struct muster_queue_event *e, void *arg)
{
    static const char *const types[] = {"done", "cancelled", "deleted"};
    struct listening *l = arg;
    if (e->task && e->len == strlen(LISTENING_END) && !memcmp(e->task, LISTENING_END, e->len))
        return 1;
    l->n++;
    fprintf(l->out, "%s", types[e->type]);
    if (e->worker)
        fprintf(l->out, " by %s%s%s", e->worker, e->holder ? " for " : "", e->holder ? e->holder : "");
    if (e->process && muster_process_id_check(e->process))
        fprintf(l->out, " malformed id %s", e->process);
    if (e->task)
        fprintf(l->out, " ");
    say_bytes(l->out, e->task, e->len);
    if (e->result) {
        fprintf(l->out, " = ");
        say_bytes(l->out, e->result->data, e->result->len);
    }
    fprintf(l->out, "\n");
    return 0;
}

static int begin(void *arg)
{
    struct listening *l = arg;
    l->has_begun = true;
    if (l->act)
        l->act(l);
    return 0;
}

int listen_with(struct muster_client *c, struct listening *l)
{
    l->out = open_memstream(&l->heard, &l->heard_len);
    int err = muster_queue_listen(c, "q", l->wait_ms ? l->wait_ms : SOON_MS, begin, note_event, l);
    fclose(l->out);
    snprintf(l->why, sizeof l->why, "%s", muster_client_error(c));
    muster_client_free(c);
    return err;
}

void assert_heard(struct scene *s, void (*act)(struct listening *l), const char *expected)
{
    struct listening l = {.scene = s, .act = act};
    int err = listen_with(scene_client(s), &l);
    bool is_same = !strcmp(l.heard, expected);
    if (!is_same)
        print_error("heard:\n%.1000s", l.heard);
    free(l.heard);
    assert_ok(err);
    assert_true(is_same);
}

void finish_with(struct scene *s, const char *task, const struct muster_bytes *result)
{
    const struct muster_finish_options o = {.size = sizeof o, .result = result};
    scene_enqueue(s, "q", task);
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", task), &o));
}

void say_the_end(struct listening *l)
{
    finish_with(l->scene, LISTENING_END, NULL);
}
