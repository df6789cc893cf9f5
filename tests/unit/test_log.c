/* SPDX-License-Identifier: MIT
 *
 * The log: who gets a line, that a long one is cut, and which classes MUSTER_TRACE turns on. That is read once per
 * program, and the default sink is standard error: so those are looked at in children.
 */
#include "base/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "testing.h"
#include "wait.h"

#define LINE_LONGEST 1023
#define UNKNOWN_CLASS \
    "muster: MUSTER_TRACE has an unknown class, which traces nothing; the classes are: state script wake\n"

struct heard {
    int lines;
    enum muster_log_level level;
    char last[4096];
};

static void hear(enum muster_log_level level, const char *line, void *arg)
{
    struct heard *heard = arg;
    heard->lines++;
    heard->level = level;
    snprintf(heard->last, sizeof heard->last, "%s", line);
}

static int restore_sink(void **state)
{
    (void)state;
    muster_log_set(NULL, NULL);
    return 0;
}

/* Runs it in a child with this MUSTER_TRACE (NULL: none), and what it writes to standard error into `out`. */
static void run_child(void (*run)(void), const char *trace, char *out, size_t size)
{
    int pipe_fds[2];
    size_t len = 0;
    ssize_t n;
    assert_return_code(pipe(pipe_fds), 0);
    pid_t pid = child_fork();
    if (pid == 0) {
        dup2(pipe_fds[1], STDERR_FILENO);
        close(pipe_fds[1]);
        if (trace ? setenv("MUSTER_TRACE", trace, 1) : unsetenv("MUSTER_TRACE"))
            _exit(1);
        run();
        _exit(0);
    }
    close(pipe_fds[1]);
    while (len < size - 1 && (n = read(pipe_fds[0], out + len, size - 1 - len)) > 0)
        len += (size_t)n;
    out[len] = '\0';
    close(pipe_fds[0]);
    assert_int_equal(child_reap(pid, SOON_MS), 0);
}

/* ---- the sink ---- */

/* U+009B in UTF-8 is a control sequence to some terminals; the letter after it is none. */
static void what_somebody_else_has_written_does_not_steer_a_terminal(void **state)
{
    struct heard heard = {0};
    (void)state;
    muster_log_set(hear, &heard);
    log_line(MUSTER_LOG_WARN, "it says: %s",
             "\033[2Ja\nb\x7f \xc2\x9b"
             "1m \xc3\xa9 \xc2\xa9 \xc2");
    assert_string_equal(heard.last, "it says: ?[2Ja?b? ??1m \xc3\xa9 \xc2\xa9 \xc2");
}

static void a_sink_gets_each_line_with_its_level(void **state)
{
    struct heard heard = {0};
    (void)state;
    muster_log_set(hear, &heard);
    for (int level = MUSTER_LOG_ERROR; level <= MUSTER_LOG_DEBUG; level++) {
        char expected[32];
        snprintf(expected, sizeof expected, "line %d of 100%%", level);
        log_line((enum muster_log_level)level, "line %d of %s", level, "100%");
        assert_int_equal(heard.lines, level + 1);
        assert_int_equal(heard.level, level);
        assert_string_equal(heard.last, expected);
    }
}

static void a_sink_replaced_hears_nothing_more(void **state)
{
    struct heard first = {0}, second = {0};
    (void)state;
    muster_log_set(hear, &first);
    muster_log_set(hear, &second);
    log_line(MUSTER_LOG_WARN, "x");
    assert_int_equal(first.lines, 0);
    assert_int_equal(second.lines, 1);
}

static void log_each_level(void)
{
    log_line(MUSTER_LOG_ERROR, "an error");
    log_line(MUSTER_LOG_WARN, "a warning");
    log_line(MUSTER_LOG_INFO, "information");
    log_line(MUSTER_LOG_DEBUG, "debugging");
}

static void log_after_the_sink_was_restored(void)
{
    struct heard heard = {0};
    muster_log_set(hear, &heard);
    muster_log_set(NULL, &heard);
    log_each_level();
    if (heard.lines)
        _exit(1);
}

static void the_default_sink_shows_errors_and_warnings(void **state)
{
    char out[4096];
    (void)state;
    run_child(log_each_level, NULL, out, sizeof out);
    assert_string_equal(out, "an error\na warning\n");
    run_child(log_after_the_sink_was_restored, NULL, out, sizeof out);
    assert_string_equal(out, "an error\na warning\n");
}

/* ---- long lines ---- */

static void a_long_line_is_cut(void **state)
{
    const struct {
        size_t len, kept;
    } cases[] = {{0, 0},
                 {LINE_LONGEST - 1, LINE_LONGEST - 1},
                 {LINE_LONGEST, LINE_LONGEST},
                 {LINE_LONGEST + 1, LINE_LONGEST},
                 {3000, LINE_LONGEST}};
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct heard heard = {0};
        char text[3001];
        memset(text, 'x', cases[i].len);
        text[cases[i].len] = '\0';
        muster_log_set(hear, &heard);
        log_line(MUSTER_LOG_INFO, "%s", text);
        assert_int_equal(strlen(heard.last), cases[i].kept);
        assert_memory_equal(heard.last, text, cases[i].kept);
    }
}

static void trace_a_long_line(void)
{
    trace_line(TRACE_STATE, "%03000d", 0);
}

static void a_long_traced_line_is_cut(void **state)
{
    char out[4096];
    (void)state;
    run_child(trace_a_long_line, "state", out, sizeof out);
    assert_int_equal(strlen(out), LINE_LONGEST + 1);
    assert_string_equal(out + LINE_LONGEST - 1, "0\n");
}

/* ---- traces ---- */

static void say_which_traces_are_on(void)
{
    dprintf(STDERR_FILENO, "%d%d%d", trace_is_on(TRACE_STATE), trace_is_on(TRACE_SCRIPT), trace_is_on(TRACE_WAKE));
}

/* A name that is no class is warned of, once. */
static void the_environment_names_the_classes_to_trace(void **state)
{
    static const struct {
        const char *trace, *on; /* state, script, wake */
        bool is_unknown;
    } cases[] = {
        {NULL, "000", false},
        {"", "000", false},
        {"state", "100", false},
        {"script", "010", false},
        {"wake", "001", false},
        {"wake,state", "101", false},
        {"state,script,wake", "111", false},
        {"state,,wake", "101", false},
        {",script", "010", false},
        {"script,", "010", false},
        {"bogus,wake", "001", true},
        {"bogus,wake,more", "001", true},
        {"wake,wake", "001", false},
        {"states", "000", true},
        {"stat", "000", true},
        {"STATE", "000", true},
        {" state", "000", true},
        {"state;wake", "000", true},
        {",", "000", false},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        char out[400], expected[400];
        run_child(say_which_traces_are_on, cases[i].trace, out, sizeof out);
        snprintf(expected, sizeof expected, "%s%s", cases[i].is_unknown ? UNKNOWN_CLASS : "", cases[i].on);
        if (strcmp(out, expected) != 0)
            fail_msg("MUSTER_TRACE='%s': %s", cases[i].trace ? cases[i].trace : "(unset)", out);
    }
}

static void trace_each_class(void)
{
    trace_line(TRACE_STATE, "one %d", 1);
    trace_line(TRACE_SCRIPT, "two");
    trace_line(TRACE_WAKE, "three");
    log_each_level();
}

/* The text after the time of day, which is left out here. */
static void traced_lines_of_the_wanted_classes_are_shown(void **state)
{
    char out[4096];
    int time_len = (int)strlen("HH:MM:SS.uuuuuu ");
    (void)state;
    run_child(trace_each_class, "script,state", out, sizeof out);
    char *two = strchr(out, '\n') + 1, *rest = strchr(two, '\n') + 1;
    assert_memory_equal(out + time_len, "state  one 1\n", 13);
    assert_memory_equal(two + time_len, "script two\n", 11);
    assert_string_equal(rest, "an error\na warning\ndebugging\n");
    run_child(trace_each_class, NULL, out, sizeof out);
    assert_string_equal(out, "an error\na warning\n");
}

static void trace_to_a_sink(void)
{
    struct heard heard = {0};
    muster_log_set(hear, &heard);
    trace_line(TRACE_WAKE, "x");
    trace_line(TRACE_STATE, "x");
    if (heard.lines != 1 || heard.level != MUSTER_LOG_DEBUG)
        _exit(1);
}

static void traced_lines_come_to_a_sink_as_debugging(void **state)
{
    char out[64];
    (void)state;
    run_child(trace_to_a_sink, "wake", out, sizeof out);
    assert_string_equal(out, "");
}

#define log_test(f) cmocka_unit_test_teardown(f, restore_sink)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        log_test(a_sink_gets_each_line_with_its_level),
        log_test(a_sink_replaced_hears_nothing_more),
        log_test(the_default_sink_shows_errors_and_warnings),
        log_test(what_somebody_else_has_written_does_not_steer_a_terminal),
        log_test(a_long_line_is_cut),
        log_test(a_long_traced_line_is_cut),
        log_test(the_environment_names_the_classes_to_trace),
        log_test(traced_lines_of_the_wanted_classes_are_shown),
        log_test(traced_lines_come_to_a_sink_as_debugging),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
