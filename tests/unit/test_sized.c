/* SPDX-License-Identifier: MIT
 *
 * The structs that begin with their size: which sizes are accepted, what a shorter or longer struct means, and that
 * every call that takes one refuses a wrong one in words.
 */
#include "base/sized.h"

#include <muster/muster.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

#define NOWHERE "unix:///nonexistent/muster.sock"
/* More than any of the structs has, and what may be added to one. */
#define ROOM 8192

struct row {
    enum sized what;
    const char *name;
    size_t len;
    enum sized_null null;
};

static const struct row rows[] = {
#define ROW(id, name, last, null) {id, #name, sizeof(struct name), null},
    SIZED_STRUCTS(ROW)
#undef ROW
};

/* A struct of this size, whose other bytes up to `len` are `fill`, and 0 behind them. */
static void *make(size_t size, size_t len, int fill)
{
    static _Alignas(max_align_t) unsigned char given[ROOM];
    memset(given, 0, sizeof given);
    memset(given, fill, len);
    memcpy(given, &size, sizeof size);
    return given;
}

static void assert_refused(const struct row *r, const void *given, const char *words)
{
    static unsigned char out[ROOM];
    static const unsigned char zero[ROOM];
    memset(out, 'x', sizeof out);
    const char *why = sized_read(r->what, out, given);
    if (!why || !strstr(why, words) || !strstr(why, r->name))
        fail_msg("struct %s: '%s', not '%s'", r->name, why ? why : "accepted", words);
    assert_memory_equal(out, zero, r->len);
}

/* ---- reading ---- */

static void the_own_size_is_read_whole(void **state)
{
    static unsigned char out[ROOM];
    (void)state;
    for (const struct row *r = rows; r < rows + N_OF(rows); r++) {
        const unsigned char *given = make(r->len, r->len, 7);
        assert_null(sized_read(r->what, out, given));
        assert_memory_equal(out, given, r->len);
    }
}

static void a_forgotten_size_is_refused(void **state)
{
    (void)state;
    for (const struct row *r = rows; r < rows + N_OF(rows); r++)
        assert_refused(r, make(0, r->len, 7), "is 0");
}

static void a_size_that_no_version_has_is_refused(void **state)
{
    (void)state;
    for (const struct row *r = rows; r < rows + N_OF(rows); r++) {
        for (size_t size = 1; size < r->len; size++)
            assert_refused(r, make(size, r->len, 0), "is not the sizeof");
        assert_refused(r, make(r->len + 1, r->len, 7), "is not the sizeof");
        assert_refused(r, make(r->len + 4096, r->len, 7), "is not the sizeof");
        assert_refused(r, make(SIZE_MAX - 7, r->len, 7), "is not the sizeof");
    }
}

static void a_longer_struct_is_read_if_all_that_is_unknown_is_0(void **state)
{
    static unsigned char out[ROOM];
    (void)state;
    for (const struct row *r = rows; r < rows + N_OF(rows); r++)
        for (size_t more = 8; more <= 64; more += 8) {
            const unsigned char *given = make(r->len + more, r->len, 7);
            assert_null(sized_read(r->what, out, given));
            assert_memory_equal(out + sizeof(size_t), given + sizeof(size_t), r->len - sizeof(size_t));
        }
}

static void a_longer_struct_with_an_unknown_field_is_refused(void **state)
{
    (void)state;
    for (const struct row *r = rows; r < rows + N_OF(rows); r++)
        for (size_t at = r->len; at < r->len + 16; at++) {
            unsigned char *given = make(r->len + 16, r->len, 7);
            given[at] = 1;
            assert_refused(r, given, "does not know");
        }
}

static void null_means_all_defaults_or_is_refused(void **state)
{
    static unsigned char out[ROOM];
    static const unsigned char zero[ROOM];
    (void)state;
    for (const struct row *r = rows; r < rows + N_OF(rows); r++) {
        if (r->null == SIZED_NEEDED) {
            assert_refused(r, NULL, "is needed");
            continue;
        }
        memset(out, 'x', sizeof out);
        assert_null(sized_read(r->what, out, NULL));
        assert_memory_equal(out, zero, r->len);
    }
}

/* ---- writing ---- */

static void a_struct_of_the_programs_gets_what_it_has_room_for(void **state)
{
    static _Alignas(max_align_t) unsigned char own[ROOM];
    static const unsigned char zero[ROOM];
    (void)state;
    memset(own, 9, sizeof own);
    for (const struct row *r = rows; r < rows + N_OF(rows); r++) {
        size_t head = sizeof(size_t);
        unsigned char *out = make(r->len + 16, r->len + 24, 7);
        assert_null(sized_clear(r->what, out));
        assert_memory_equal(out + head, zero, r->len + 16 - head);
        assert_int_equal(out[r->len + 16], 7);
        sized_write(r->what, out, own);
        assert_memory_equal(out + head, own + head, r->len - head);
        assert_memory_equal(out + r->len, zero, 16);
        size_t size;
        memcpy(&size, out, sizeof size);
        assert_int_equal(size, r->len + 16);
        assert_non_null(sized_clear(r->what, make(0, r->len, 7)));
        assert_non_null(sized_clear(r->what, make(r->len - 8, r->len, 7)));
        assert_non_null(sized_clear(r->what, NULL));
    }
}

/* ---- calls ---- */

static int see(const void *row)
{
    (void)row;
    fail_msg("a row, without Redis");
    return 1;
}

static int see_process(const struct muster_process_info *row, void *arg)
{
    (void)arg;
    return see(row);
}

static int see_failure(const struct muster_failure *row, void *arg)
{
    (void)arg;
    return see(row);
}

static int see_job(const struct muster_job *row, void *arg)
{
    (void)arg;
    return see(row);
}

static const struct muster_job_filter of_queue = {.size = sizeof of_queue, .queue = "q"};
static const struct muster_job_bulk drop_jobs = {.size = sizeof drop_jobs, .action = MUSTER_JOBS_DROP};

/* Every call of a client that takes one of the structs, with `given` as that struct. */
static int call_client(struct muster_client *c, enum sized what, void *given, size_t which)
{
    static const char process[] = ".lease:00000000001:q";
    int err;
    switch (what) {
    case SIZED_ENQUEUE_OPTIONS:
        return muster_task_enqueue_many(c, "q", &(struct muster_bytes){"x", 1}, 1, given, NULL);
    case SIZED_PROCESS_FILTER:
        return muster_process_list(c, given, see_process, NULL);
    case SIZED_TAKE_OPTIONS:
        return muster_lease_take_as(c, "q", given, see_process, NULL);
    case SIZED_FINISH_OPTIONS:
        return muster_lease_finish(c, process, given);
    case SIZED_LEASE_END:
        return muster_lease_end_many(c, given, 1, &err);
    case SIZED_EXTEND_OPTIONS:
        return which == 0 ? muster_lease_extend(c, process, given)
                          : muster_lease_extend_many(c, (const char *const[]){process}, 1, given, &err);
    case SIZED_FAILED_FILTER:
        return which == 0   ? muster_failed_list(c, given, see_failure, NULL)
               : which == 1 ? muster_failed_replay(c, given, NULL)
                            : muster_failed_drop(c, given, NULL);
    case SIZED_JOB_SPEC:
        return which == 0 ? muster_job_put(c, "q", given, NULL)
                          : muster_job_put_many(c, "q", (const struct muster_job_spec *const[]){given}, 1, NULL, NULL);
    case SIZED_JOB_PUT_OPTIONS:
        return muster_job_put_many(c, "q", NULL, 1, given, NULL);
    case SIZED_BATCH_SPEC:
        return muster_batch_open(c, given, NULL);
    case SIZED_JOB_FILTER:
        return which == 0 ? muster_job_list(c, given, see_job, NULL) : muster_job_bulk(c, given, &drop_jobs, NULL);
    case SIZED_JOB_BULK:
        return muster_job_bulk(c, &of_queue, given, NULL);
    case SIZED_JOB_BULK_COUNTS:
        return muster_job_bulk(c, &of_queue, &drop_jobs, given);
    case SIZED_JOB_CHANGE:
        return muster_job_change(c, "j", given);
    case SIZED_STATS:
        return muster_stats_get(c, "q", 1, given);
    case SIZED_SERVER_INFO:
        return muster_client_server(c, given);
    case SIZED_CLIENT_OPTIONS:
    case SIZED_WORKER_OPTIONS:
    case SIZED_COMMAND:
    case SIZED_WORKER_STATS:
    case SIZED_CLIENT_STATS:
    case SIZED_ASYNC_OPTIONS:
    case SIZED_ANSWER:
    case SIZED_ITEM:
    case SIZED_LISTENER_OPTIONS:
    case SIZED_HEARD:
        break; /* no calls of a client, or without words: see below */
    }
    return MUSTER_E_INVALID;
}

static bool is_of_a_client(enum sized what)
{
    return what != SIZED_CLIENT_OPTIONS && what != SIZED_WORKER_OPTIONS && what != SIZED_COMMAND &&
           what != SIZED_WORKER_STATS && what != SIZED_CLIENT_STATS && what != SIZED_ASYNC_OPTIONS &&
           what != SIZED_ANSWER && what != SIZED_ITEM && what != SIZED_LISTENER_OPTIONS && what != SIZED_HEARD;
}

static void every_call_of_a_client_refuses_a_wrong_size_in_words(void **state)
{
    const struct muster_client_options o = {.size = sizeof o, .url = NOWHERE};
    struct muster_client *c;
    (void)state;
    assert_ok(muster_client_new(&c, &o));
    for (const struct row *r = rows; r < rows + N_OF(rows); r++)
        for (size_t which = 0; is_of_a_client(r->what) && which < 3; which++) {
            assert_err(call_client(c, r->what, make(0, r->len, 0), which), MUSTER_E_INVALID);
            assert_non_null(strstr(muster_client_error(c), r->name));
            assert_err(call_client(c, r->what, make(sizeof(void *), r->len, 0), which), MUSTER_E_INVALID);
            assert_non_null(strstr(muster_client_error(c), r->name));
            if (r->what == SIZED_STATS || r->what == SIZED_SERVER_INFO || r->what == SIZED_JOB_BULK_COUNTS)
                continue; /* the library writes it: what stands in it beforehand means nothing */
            unsigned char *given = make(r->len + 8, r->len, 0);
            given[r->len] = 1;
            assert_err(call_client(c, r->what, given, which), MUSTER_E_INVALID);
            assert_non_null(strstr(muster_client_error(c), "does not know"));
        }
    muster_client_free(c);
}

static void a_worker_hands_nothing_out_into_items_of_a_wrong_size(void **state)
{
    const struct muster_worker_options o = {.size = sizeof o, .url = NOWHERE, .own_thread = 1};
    struct muster_item item = {0};
    struct muster_worker *w;
    (void)state;
    assert_ok(muster_worker_new(&w, &o));
    assert_int_equal(muster_worker_next(w, &item, 1), 0);
    assert_non_null(strstr(muster_worker_error(w), "muster_item is 0"));
    item.size = sizeof item - 8;
    assert_int_equal(muster_worker_next(w, &item, 1), 0);
    assert_non_null(strstr(muster_worker_error(w), "not the sizeof"));
    muster_worker_free(w);
}

static void a_client_and_a_worker_are_not_made_of_a_wrong_size(void **state)
{
    const struct muster_client_options unsized = {.url = NOWHERE};
    const struct muster_worker_options unsized_worker = {.url = NOWHERE};
    const struct {
        struct muster_client_options o;
        int more[16];
    } later = {.o = {.size = sizeof later, .url = NOWHERE, .prefix = "p"}, .more = {0, 1}};
    struct muster_client *c = (struct muster_client *)1;
    struct muster_worker *w = (struct muster_worker *)1;
    (void)state;
    assert_err(muster_client_new(&c, &unsized), MUSTER_E_INVALID);
    assert_null(c);
    assert_err(muster_worker_new(&w, &unsized_worker), MUSTER_E_INVALID);
    assert_null(w);
    assert_err(muster_client_new(&c, &later.o), MUSTER_E_INVALID);
}

static void a_command_of_a_wrong_size_is_not_served(void **state)
{
    const char *const argv[] = {"true", NULL};
    const struct muster_command unsized = {.argv = argv};
    const struct muster_worker_options o = {.size = sizeof o, .url = NOWHERE};
    struct muster_worker *w;
    (void)state;
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_start(w));
    assert_err(muster_worker_serve_command(w, "q", &unsized), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_worker_error(w), "struct muster_command"));
    assert_err(muster_worker_serve_command(w, "q", NULL), MUSTER_E_INVALID);
    muster_worker_free(w);
}

static void figures_of_a_wrong_size_are_refused_and_nothing_is_written(void **state)
{
    const struct muster_client_options co = {.size = sizeof co, .url = NOWHERE};
    const struct muster_worker_options wo = {.size = sizeof wo, .url = NOWHERE};
    struct muster_client *c;
    struct muster_worker *w;
    (void)state;
    assert_ok(muster_client_new(&c, &co));
    assert_ok(muster_worker_new(&w, &wo));
    for (size_t size = 0; size <= sizeof(void *); size += sizeof(void *)) {
        unsigned char *given = make(size, ROOM, 7);
        assert_err(muster_client_stats(c, (struct muster_client_stats *)given), MUSTER_E_INVALID);
        assert_err(muster_worker_stats(w, (struct muster_worker_stats *)given), MUSTER_E_INVALID);
        assert_int_equal(given[sizeof(size_t)], 7);
    }
    assert_err(muster_client_stats(c, NULL), MUSTER_E_INVALID);
    assert_err(muster_worker_stats(w, NULL), MUSTER_E_INVALID);
    muster_worker_free(w);
    muster_client_free(c);
}

/* What an answer, or something heard, of a wrong size becomes, live/test_async.c and live/test_listener.c show. */
static void an_asynchronous_client_and_a_listener_are_not_made_of_a_wrong_size(void **state)
{
    const struct muster_async_options unsized = {.max_in_flight = 1};
    struct muster_async *a = (struct muster_async *)1;
    (void)state;
    assert_err(muster_async_new(&a, &unsized), MUSTER_E_INVALID);
    assert_null(a);
    assert_non_null(strstr(muster_async_error(a), "struct muster_async_options"));
    const struct muster_listener_options unsized_listener = {.max_heard = 1};
    struct muster_listener *l = (struct muster_listener *)1;
    assert_err(muster_listener_new(&l, &unsized_listener), MUSTER_E_INVALID);
    assert_null(l);
    assert_non_null(strstr(muster_listener_error(l), "struct muster_listener_options"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_own_size_is_read_whole),
        cmocka_unit_test(a_forgotten_size_is_refused),
        cmocka_unit_test(a_size_that_no_version_has_is_refused),
        cmocka_unit_test(a_longer_struct_is_read_if_all_that_is_unknown_is_0),
        cmocka_unit_test(a_longer_struct_with_an_unknown_field_is_refused),
        cmocka_unit_test(null_means_all_defaults_or_is_refused),
        cmocka_unit_test(a_struct_of_the_programs_gets_what_it_has_room_for),
        cmocka_unit_test(every_call_of_a_client_refuses_a_wrong_size_in_words),
        cmocka_unit_test(a_worker_hands_nothing_out_into_items_of_a_wrong_size),
        cmocka_unit_test(a_client_and_a_worker_are_not_made_of_a_wrong_size),
        cmocka_unit_test(a_command_of_a_wrong_size_is_not_served),
        cmocka_unit_test(figures_of_a_wrong_size_are_refused_and_nothing_is_written),
        cmocka_unit_test(an_asynchronous_client_and_a_listener_are_not_made_of_a_wrong_size),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
