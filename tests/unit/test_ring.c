/* SPDX-License-Identifier: MIT
 *
 * The ring between the loop and its threads: what is taken by whom, and that calling back and taking exclude each other.
 */
#include "worker/ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum { MANY = 200000, TAKERS = 4 };

static size_t n_told;
static void *told[64];

static void note_told(void *thing)
{
    told[n_told++] = thing;
}

static void *thing(size_t i)
{
    static char things[MANY + 1];
    return &things[i];
}

static struct ring *with_ahead(struct ring *r, size_t n)
{
    assert_true(ring_new(r, 8));
    for (size_t i = 0; i < n; i++)
        ring_put(r, thing(i));
    n_told = 0;
    return r;
}

static void nothing_is_taken_before_it_is_published(void **state)
{
    struct ring r;
    (void)state;
    with_ahead(&r, 1);
    assert_null(ring_take(&r, RING_ALL));
    ring_publish(&r);
    assert_ptr_equal(ring_take(&r, RING_ALL), thing(0));
    assert_null(ring_take(&r, RING_ALL));
    ring_free(&r);
}

static void only_what_is_sure_is_for_everybody(void **state)
{
    struct ring r;
    (void)state;
    with_ahead(&r, 3);
    ring_publish(&r);
    assert_false(ring_has_sure(&r));
    assert_null(ring_take(&r, RING_SURE));
    ring_make_sure(&r, 0);
    assert_true(ring_has_sure(&r));
    assert_ptr_equal(ring_take(&r, RING_SURE), thing(0));
    assert_null(ring_take(&r, RING_SURE));
    assert_ptr_equal(ring_take(&r, RING_ALL), thing(1));
    assert_ptr_equal(ring_last_ahead(&r), thing(2));
    ring_free(&r);
}

static void what_was_taken_ahead_is_told_once_and_in_order(void **state)
{
    struct ring r;
    (void)state;
    with_ahead(&r, 5);
    ring_make_sure(&r, 0);
    ring_publish(&r);
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(ring_take(&r, RING_ALL), thing((size_t)i));
    ring_make_sure(&r, 1); /* the putting thread has found out by itself */
    ring_forget(&r, 2);
    assert_ptr_equal(ring_next_taken(&r), thing(3));
    assert_null(ring_next_taken(&r));
    assert_ptr_equal(ring_take(&r, RING_ALL), thing(4));
    assert_ptr_equal(ring_next_taken(&r), thing(4));
    ring_free(&r);
}

/* Where the loop is never there first, nothing is made sure for as long as the threads have work. */
static void however_many_were_taken_ahead_the_next_one_is_told(void **state)
{
    const uint32_t many = INT32_MAX - 2;
    struct ring r;
    (void)state;
    with_ahead(&r, 0);
    r.filled = r.seen = many;
    atomic_store(&r.ends, (uint64_t)many << 32 | many);
    for (size_t i = 0; i < 8; i++) {
        ring_put(&r, thing(i));
        ring_publish(&r);
        assert_ptr_equal(ring_last_ahead(&r), thing(i));
        assert_false(ring_has_sure(&r));
        assert_ptr_equal(ring_take(&r, RING_ALL), thing(i));
        assert_ptr_equal(ring_next_taken(&r), thing(i));
        assert_null(ring_next_taken(&r));
    }
    ring_free(&r);
}

static void what_is_ahead_is_called_back_and_what_is_sure_stays(void **state)
{
    struct ring r;
    (void)state;
    with_ahead(&r, 4);
    ring_make_sure(&r, 1);
    ring_publish(&r);
    ring_put(&r, thing(4));
    ring_call_back(&r, note_told);
    assert_int_equal(n_told, 3);
    for (size_t i = 0; i < n_told; i++)
        assert_ptr_equal(told[i], thing(2 + i));
    assert_null(ring_last_ahead(&r));
    assert_ptr_equal(ring_take(&r, RING_ALL), thing(0));
    assert_ptr_equal(ring_take(&r, RING_ALL), thing(1));
    assert_null(ring_take(&r, RING_ALL));
    assert_null(ring_next_taken(&r));
    ring_put(&r, thing(5));
    ring_publish(&r);
    assert_ptr_equal(ring_take(&r, RING_ALL), thing(5));
    assert_ptr_equal(ring_next_taken(&r), thing(5));
    ring_free(&r);
}

/* What was made sure is not published yet: it stays in the ring. */
static void an_unpublished_sure_thing_is_not_called_back(void **state)
{
    struct ring r;
    (void)state;
    with_ahead(&r, 2);
    ring_make_sure(&r, 0);
    ring_call_back(&r, note_told);
    assert_int_equal(n_told, 1);
    ring_publish(&r);
    assert_ptr_equal(ring_take(&r, RING_SURE), thing(0));
    assert_null(ring_take(&r, RING_ALL));
    ring_free(&r);
}

static void it_has_room_for_what_was_promised(void **state)
{
    struct ring r;
    (void)state;
    with_ahead(&r, 0);
    for (size_t i = 0; i < 8; i++) {
        assert_true(ring_has_room(&r, 0));
        ring_put(&r, thing(i));
    }
    assert_false(ring_has_room(&r, 0));
    ring_publish(&r);
    assert_ptr_equal(ring_take(&r, RING_ALL), thing(0));
    assert_false(ring_has_room(&r, 0)); /* it was not told yet */
    assert_ptr_equal(ring_next_taken(&r), thing(0));
    assert_true(ring_has_room(&r, 0));
    assert_false(ring_has_room(&r, 1));
    ring_free(&r);
}

/* ---- many at once ---- */

static struct {
    struct ring ring;
    atomic_int times[MANY];
    atomic_bool is_over, is_out_of_order;
} race;

static void *take_all(void *arg)
{
    char *last = NULL;
    (void)arg;
    for (;;) {
        bool was_over = atomic_load(&race.is_over);
        char *one = ring_take(&race.ring, RING_ALL);
        if (!one && was_over)
            return NULL;
        if (!one)
            continue;
        if (one <= last)
            atomic_store(&race.is_out_of_order, true);
        last = one;
        atomic_fetch_add(&race.times[one - (char *)thing(0)], 1);
    }
}

static size_t n_back;

static void count_back(void *one)
{
    (void)one;
    n_back++;
}

/* Things go in by fives and are called back now and then; what came back goes in again. */
static void each_is_taken_once_and_in_order_by_many(void **state)
{
    pthread_t takers[TAKERS];
    size_t next = 0, n_seen = 0;
    char *last = NULL, *one;
    (void)state;
    assert_true(ring_new(&race.ring, 64));
    for (int i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_create(&takers[i], NULL, take_all, NULL), 0);
    for (size_t turn = 0; n_seen < MANY; turn++) {
        for (int i = 0; i < 5 && next < MANY && ring_has_room(&race.ring, 0); i++)
            ring_put(&race.ring, thing(next++));
        ring_publish(&race.ring);
        if (turn % 3 == 0) {
            n_back = 0;
            ring_call_back(&race.ring, count_back);
            next -= n_back;
        }
        for (; (one = ring_next_taken(&race.ring)) != NULL; n_seen++, last = one)
            if (one <= last)
                atomic_store(&race.is_out_of_order, true);
    }
    atomic_store(&race.is_over, true);
    for (int i = 0; i < TAKERS; i++)
        pthread_join(takers[i], NULL);
    ring_free(&race.ring);
    assert_false(atomic_load(&race.is_out_of_order));
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(atomic_load(&race.times[i]), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_taken_before_it_is_published),
        cmocka_unit_test(only_what_is_sure_is_for_everybody),
        cmocka_unit_test(what_was_taken_ahead_is_told_once_and_in_order),
        cmocka_unit_test(however_many_were_taken_ahead_the_next_one_is_told),
        cmocka_unit_test(what_is_ahead_is_called_back_and_what_is_sure_stays),
        cmocka_unit_test(an_unpublished_sure_thing_is_not_called_back),
        cmocka_unit_test(it_has_room_for_what_was_promised),
        cmocka_unit_test(each_is_taken_once_and_in_order_by_many),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
