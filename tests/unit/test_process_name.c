/* SPDX-License-Identifier: MIT
 *
 * The ids of processes: how they are made, and which are refused.
 */
#include "protocol/process_name.h"

#include <muster/job.h>
#include <stdio.h>
#include <string.h>

#include "testing.h"

#define TOKEN "0123456789a"

static void a_process_id_is_worker_token_queue(void **state)
{
    char id[PROCESS_ID_MAX];
    (void)state;
    process_name_format(id, "w-1", "0000000000v", "a:b");
    assert_string_equal(id, "w-1:0000000000v:a:b");
}

static void a_process_id_has_a_worker_a_token_and_a_queue(void **state)
{
    static const struct {
        const char *id, *worker, *queue;
    } good[] = {
        {"w:" TOKEN ":q", "w", "q"},
        {".lease:" TOKEN ":q", ".lease", "q"},
        {"host-1.a_b:" TOKEN ":a:b::", "host-1.a_b", "a:b::"},
        {"w:" TOKEN "::", "w", ":"},
        {"w:" TOKEN ": \xc3\xa4 ", "w", " \xc3\xa4 "},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(good); i++) {
        struct process_name name;
        assert_null(process_name_parse(&name, good[i].id));
        assert_null(muster_process_id_check(good[i].id));
        assert_string_equal(name.worker, good[i].worker);
        assert_string_equal(name.token, TOKEN);
        assert_string_equal(name.queue, good[i].queue);
    }
}

static void what_is_no_process_id_is_refused_with_a_reason(void **state)
{
    static const struct {
        const char *id, *why;
    } bad[] = {
        {NULL, "form"},
        {"", "form"},
        {"w", "form"},
        {"w:" TOKEN, "form"},
        {"w::q", "form"},
        {"w:" TOKEN "0:q", "form"},
        {"w:0123456789:q", "form"},
        {"w:0123456789w:q", "form"},
        {"w:0123456789A:q", "form"},
        {"w:          a:q", "form"},
        {":" TOKEN ":q", "empty"},
        {"w:" TOKEN ":", "empty"},
        {".other:" TOKEN ":q", "dot"},
        {".leases:" TOKEN ":q", "dot"},
        {"a b:" TOKEN ":q", "letters"},
        {"w:" TOKEN ":a\nb", "control"},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(bad); i++) {
        const char *why = muster_process_id_check(bad[i].id);
        if (!why || !strstr(why, bad[i].why))
            fail_msg("'%s': %s", bad[i].id ? bad[i].id : "NULL", why ? why : "accepted");
    }
}

static void a_process_id_holds_the_longest_names_and_no_longer_ones(void **state)
{
    char worker[MUSTER_WORKER_ID_MAX + 2], queue[MUSTER_QUEUE_MAX + 2], id[PROCESS_ID_MAX + 8];
    (void)state;
    memset(worker, 'w', sizeof worker);
    memset(queue, 'q', sizeof queue);
    worker[sizeof worker - 1] = queue[sizeof queue - 1] = '\0';
    process_name_format(id, worker + 1, TOKEN, queue + 1);
    assert_int_equal(strlen(id), 64 + 1 + TOKEN_LEN + 1 + 200);
    assert_null(muster_process_id_check(id));
    snprintf(id, sizeof id, "%s:" TOKEN ":%s", worker, queue + 1);
    assert_non_null(strstr(muster_process_id_check(id), "64"));
    snprintf(id, sizeof id, "%s:" TOKEN ":%s", worker + 1, queue);
    assert_non_null(strstr(muster_process_id_check(id), "200"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_id_is_worker_token_queue),
        cmocka_unit_test(a_process_id_has_a_worker_a_token_and_a_queue),
        cmocka_unit_test(what_is_no_process_id_is_refused_with_a_reason),
        cmocka_unit_test(a_process_id_holds_the_longest_names_and_no_longer_ones),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
