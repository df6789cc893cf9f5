/* SPDX-License-Identifier: MIT
 *
 * Limits and the names of jobs' states, which scripts and headers must both know. A script has them as text.
 */
#include <muster/job.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "protocol/lua_scripts.h"
#include "protocol/token.h"
#include "worker/probe.h"

#include "testing.h"

__attribute__((format(printf, 2, 3))) static void assert_says(enum script_id id, const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!memmem(lua_scripts[id].body, lua_scripts[id].len, text, strlen(text)))
        fail_msg("%s.lua does not say '%s'", lua_scripts[id].name, text);
}

static void limits_are_the_same(void **state)
{
    (void)state;
    assert_says(SCRIPT_CHANGE, "TAGS_MAX, AFTER_MAX = %d, %d\n", MUSTER_JOB_TAGS_MAX, MUSTER_JOB_AFTER_MAX);
    assert_says(SCRIPT_CANCEL_JOBS, "MOST = %d\n", MUSTER_JOB_CANCEL_MAX);
    assert_says(SCRIPT_CANCEL_JOBS, "MOST_NAMED = %d\n", MUSTER_JOB_CANCEL_NAMED_MAX);
    assert_says(SCRIPT_TAKE, "TOKEN_LEN = %d\n", TOKEN_LEN);
    assert_says(SCRIPT_REPLAY, "TOKEN_LEN = %d\n", TOKEN_LEN);
    assert_says(SCRIPT_HEARTBEAT, "BEAT_AGE_PART = %d\n", PROBE_BEAT_AGE_PART);
    assert_says(SCRIPT_PUT, "JOB_ID_MAX = %d\n", MUSTER_JOB_ID_MAX);
    assert_says(SCRIPT_PUT, "BUCKETS = %d ", MUSTER_STATS_BUCKETS);
}

static void each_state_has_its_name_and_its_index(void **state)
{
    (void)state;
    for (int i = 0; i < MUSTER_JOB_STATE_COUNT; i++) {
        const char *name = muster_job_state_name((enum muster_job_state)i);
        assert_int_equal(muster_job_state_of(name), i);
        assert_says(SCRIPT_CHECK_JOB, "%s = true", name);
        if (i != MUSTER_JOB_FAILED) /* its list has tasks, too */
            assert_says(SCRIPT_PUT, "%s = '%s:'", name, name);
    }
    assert_int_equal(muster_job_state_of("none"), -1);
    assert_int_equal(muster_job_state_of(NULL), -1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_the_same),
        cmocka_unit_test(each_state_has_its_name_and_its_index),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
