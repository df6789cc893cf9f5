/* SPDX-License-Identifier: MIT
 *
 * Anybody may publish on the channels of a queue, and a queue of another namespace may have the same channels. A
 * message that is not meant for the listener, or not well formed, is passed over, and none breaks the listener.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listening.h"
#include "taken.h"

static void publish(struct scene *s, const char *channel, const void *data, size_t len)
{
    char name[64];
    snprintf(name, sizeof name, "%s_q_%s", s->prefix, channel);
    const char *argv[] = {"PUBLISH", name, data};
    const size_t lens[] = {strlen("PUBLISH"), strlen(name), len};
    freeReplyObject(redisCommandArgv(s->server->redis, 3, argv, lens));
}

#define ID ".lease:0123456789a:q"

static void publish_nonsense(struct listening *l)
{
    static const char *const frames[] = {
        "",
        "t",
        "20:1:-:" ID,       /* a byte too few */
        "20:1:-:" ID "t t", /* what follows is no name of a holder */
        "20:1:2:" ID "tr",  /* a result too short */
        "20:1:--:" ID "t",
        "20:1::" ID "t",
        "20:1:" ID "t",
        "99999999999999999999:1:-:" ID "t",
        "-1:1:-:" ID "t",
        "19:1:-:lease:0123456789a:qt",  /* this one is a worker's */
        "20:1:-:.lease:0123456789a:rt", /* of another queue */
        "20:1:-:.other:0123456789a:qt",
        "20:1:-:.lease:0123456789z:qt",
        "0:1:-:t",
    };
    for (size_t i = 0; i < N_OF(frames); i++)
        publish(l->scene, "done", frames[i], strlen(frames[i]));
    publish(l->scene, "delete", "r", 1);
    publish(l->scene, "delete", "", 0);
    publish(l->scene, "cancel", "foreign", 7);
    say_the_end(l);
}

static void what_does_not_parse_is_passed_over(void **state)
{
    assert_heard(*state, publish_nonsense, "done by lease t\ncancelled foreign\n");
}

/* Frames with bytes changed, inserted, removed and cut off, from a fixed beginning: the same ones each time. */
static uint64_t drawn = 88172645463325252u;

static size_t draw(size_t n)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return (size_t)(drawn % n);
}

static size_t mutate(char *bytes, size_t len)
{
    static const char likely[] = "0123456789:-.\0\xff";
    for (size_t n = 1 + draw(4); n > 0; n--) {
        size_t at = draw(len);
        switch (draw(4)) {
        case 0:
            bytes[at] = likely[draw(sizeof likely)];
            break;
        case 1:
            memmove(bytes + at + 1, bytes + at, len - at);
            bytes[at] = likely[draw(sizeof likely)];
            len++;
            break;
        case 2:
            bytes[at] = (char)draw(256);
            break;
        default:
            len = at + 1;
        }
    }
    return len;
}

static void publish_mutants(struct listening *l)
{
    static const char frame[] = "20:3:4:" ID "ab:cd:-";
    for (int i = 0; i < 5000; i++) {
        char bytes[64];
        memcpy(bytes, frame, sizeof frame - 1);
        size_t len = mutate(bytes, sizeof frame - 1);
        publish(l->scene, draw(2) ? "done" : "delete", bytes, len);
    }
    publish(l->scene, "done", frame, sizeof frame - 1);
    say_the_end(l);
}

/* Every message that comes through is well formed; the untouched one comes through. */
static void nothing_that_comes_breaks_it(void **state)
{
    struct listening l = {.scene = *state, .act = publish_mutants};
    int err = listen_with(scene_client(*state), &l);
    bool has_last = l.heard_len > 0 && strstr(l.heard, "done by .lease ab: = cd:-\n") != NULL;
    bool is_malformed = strstr(l.heard, "malformed") != NULL;
    size_t n = l.n;
    free(l.heard);
    assert_ok(err);
    assert_true(has_last);
    assert_false(is_malformed);
    assert_in_range(n, 1, 4000);
}

/* The namespace "<prefix>_a" and its queue "q" have the channels of "<prefix>" and the queue "a_q". */
static int end_in_another_namespace(void *arg)
{
    struct scene *s = arg, other = *s;
    size_t len = strlen(other.prefix);
    snprintf(other.prefix + len, sizeof other.prefix - len, "_a");
    other.client = scene_client(&other);
    raw_do(s->server->redis, "HSET %s:queue:q broadcast 1", other.prefix);
    finish_with(&other, "foreign", NULL);
    assert_ok(muster_queue_delete(other.client, "q", NULL, NULL));
    muster_client_free(other.client);
    scene_enqueue(s, "a_q", "own");
    assert_ok(muster_lease_finish(s->client, take_one(s, "a_q", "own"), NULL));
    return 0;
}

static int must_be_own(const struct muster_queue_event *e, void *arg)
{
    (void)arg;
    assert_int_equal(e->type, MUSTER_QUEUE_DONE);
    assert_int_equal(e->len, 3);
    assert_memory_equal(e->task, "own", 3);
    return 1;
}

static void another_namespaces_queue_is_not_taken_for_this_one(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = scene_client(s);
    int err = muster_queue_listen(c, "a_q", SOON_MS, end_in_another_namespace, must_be_own, s);
    muster_client_free(c);
    assert_ok(err);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_does_not_parse_is_passed_over),
        live_test(nothing_that_comes_breaks_it),
        live_test(another_namespaces_queue_is_not_taken_for_this_one),
    };
    return scene_run(tests, argc, argv);
}
