/* SPDX-License-Identifier: MIT
 *
 * No answer hurts. Each verb of the command, and workers, are run against servers that answer nonsense: made up from
 * nothing, changed from what a real Redis answered, or always the same. Whatever they are told, they end in time with
 * one of muster's exit codes, without a report of a sanitizer, and ask no faster than somebody who works.
 *
 * MUSTER_FAULT_SECONDS: how long each case goes on. MUSTER_TEST_SEED: where it begins; a failure names the seed of its
 * run, and a case that begins there fails at once.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "hostile_server.h"
#include "protocol/lua_scripts.h"
#include "random.h"
#include "script_world.h"
#include "verbs.h"

#define SPAN_MS 7000
/* A run waits for one answer for 300 ms, and for a task or for events for 400 ms. What uses the library with its own
 * timeout waits for 5 s each time. */
#define MARGIN_MS 10000
#define BENCH_MARGIN_MS 40000
/* A worker gets this long before it is told to stop. */
#define WORK_MS 600
/* Within one second. The most that somebody asks who works is a worker with tasks that take no time. */
#define FASTEST 2500
#define ARGS_MAX 16
#define SANITIZER_EXIT 86
#define TEXT_MAX 16384

/* ---- what is run ---- */

/* '@' and a name stands for a process of the world. */
static const char *const rows[][ARGS_MAX] = {
    {"enqueue", "q", "a", "b"},
    {"enqueue", "q", "a", "b", "--request", "r1"},
    {"enqueue", "q", "a", "--front"},
    {"enqueue", "q", "a", "--unique"},
    {"put", "q", "data", "--id", "new", "--after", "waiting", "--tag", "t", "--track"},
    {"put", "q", "data", "--id", "waiting", "--replace", "--priority", "3"},
    {"put", "q", "data", "--id", "again", "--every", "1h"},
    {"put", "q", "data", "--batch", "batch"},
    {"batch", "open", "new", "--batch", "batch", "--on-end", "q=x"},
    {"batch", "close", "batch"},
    {"batch", "cancel", "batch"},
    {"batch", "batch"},
    {"batches"},
    {"queues"},
    {"workers"},
    {"ps"},
    {"ps", "--queue", "q"},
    {"peek", "q", "-n", "50"},
    {"peek", "q", "-n", "50", "--delayed"},
    {"take", "q", "-n", "9", "--lease", "1m"},
    {"take", "none", "--lease", "1m", "--wait", "400ms"},
    {"finish", "@leased"},
    {"finish", "@leased_job", "--result", "r"},
    {"give-back", "@leased", "@held"},
    {"retry", "@leased_job", "--delay", "1m"},
    {"fail", "@leased", "--group", "g", "--message", "m"},
    {"extend", "@leased", "--lease", "1m", "--progress", "half"},
    {"extend", "@leased_job", "--data", "d"},
    {"cancel", "q", "t1", "waiting0"},
    {"cancel", "--process", "@held"},
    {"cancel", "--job", "waiting", "scheduled"},
    {"cancel", "--job", "held", "--dependents"},
    {"pause", "q"},
    {"resume", "q"},
    {"delete", "q", "--yes"},
    {"job", "waiting", "held", "complete", "depends"},
    {"job", "depends", "--parents"},
    {"wait", "waiting", "complete", "--timeout", "400ms"},
    {"jobs"},
    {"jobs", "--queue", "q"},
    {"jobs", "--queue", "q", "--state", "waiting"},
    {"jobs", "--queue", "q", "--state", "failed"},
    {"jobs", "--queue", "q", "--group", "g"},
    {"jobs", "--tag", "blue"},
    {"jobs", "--tracked"},
    {"jobs", "--tags"},
    {"change", "waiting", "--priority", "3", "--tag", "+green", "--log", "line"},
    {"change", "depends", "--after", "-all", "--queue", "o"},
    {"failed"},
    {"doctor"},
    {"failed", "q"},
    {"replay", "q", "--all"},
    {"replay", "q", "--group", "g"},
    {"drop", "q", "--all"},
    {"stats"},
    {"stats", "--queue", "q"},
    {"listen", "q", "o", "--timeout", "400ms"},
    {"events", "--timeout", "400ms"},
    {"config"},
    {"config", "--queue", "q"},
    {"config", "--queue", "q", "max_running=2"},
    {"sweep"},
    {"fail-worker", "dead"},
    {"check"},
    {"check", "--repair"},
    {"upgrade"},
    {"completion", "--candidates", "--", "peek", ""},
};

/* Each is told to stop. */
static const char *const worker_rows[][ARGS_MAX] = {
    {"work", "q", "--print", "--ttl", "300ms", "--drain", "100ms"},
    {"work", "q", "o", "--print", "--ttl", "300ms", "--drain", "100ms", "-c", "3", "--prefetch", "5", "--id", "again",
     "--resume"},
    {"work", "q", "--ttl", "300ms", "--drain", "100ms", "-c", "2", "--", "true"},
    {"work", "q", "--ttl", "300ms", "--drain", "100ms", "-c", "2", "--burst", "-I", "X", "--", "sh", "-c", "exit 75"},
    {"work", "q", "o", "--ttl", "300ms", "--drain", "100ms", "--id", "attic", "--permanent", "--", "sleep", "0.1"},
};

/* These ask as fast as they can. Rows whose raw side listens are left out: it is hiredis on a loop and nothing else,
 * and that ends the program for an answer that nobody asked for. */
static const char *const bench_rows[][ARGS_MAX] = {
    {"bench", "enqueue_serial", "--seconds", "1"},
    {"bench", "drain", "--seconds", "1"},
    {"bench", "jobs_put", "--seconds", "1"},
};

/* serve asks only the Redis that it has started, and help nobody; top and web ask by the verbs above, and go on. */
static const char *const no_rows[] = {"serve", "help", "top", "web"};

/* ---- one run ---- */

struct run {
    const char *const *row;
    const char *argv[ARGS_MAX + 8];
    char words[ARGS_MAX][64];
    uint64_t seed;
    struct hostile_spec spec;
};

struct figures {
    unsigned runs, codes[256];
    uint64_t fastest;
    int slowest_ms;
};

struct stage {
    struct redis_server *server;
    struct script_world world;
    struct scene *scene;
    struct hostile_server hostile;
    struct figures figures;
    char out[120];
};

static const char *process_of(const struct stage *t, const char *name)
{
    const struct script_world *w = &t->world;
    return strcmp(name, "held") == 0         ? w->held
           : strcmp(name, "leased") == 0     ? w->leased
           : strcmp(name, "leased_job") == 0 ? w->leased_job
                                             : "";
}

static void make_argv(const struct stage *t, struct run *r)
{
    size_t n = 0;
    r->argv[n++] = MUSTER_COMMAND;
    r->argv[n++] = r->row[0];
    r->argv[n++] = "--prefix";
    r->argv[n++] = t->scene->prefix;
    if (r->seed % 2)
        r->argv[n++] = "--json";
    if (strcmp(r->row[0], "events") && strcmp(r->row[0], "listen") && strcmp(r->row[0], "work")) {
        r->argv[n++] = "--timeout";
        r->argv[n++] = r->spec.constant ? "1m" : "300ms"; /* a constant answer always comes */
    }
    for (size_t i = 1; i < ARGS_MAX && r->row[i]; i++) {
        const char *word = r->row[i];
        if (*word == '@')
            snprintf(r->words[i], sizeof r->words[i], "%s:%s:q", strcmp(word, "@held") ? ".lease" : "w",
                     process_of(t, word + 1));
        r->argv[n++] = *word == '@' ? r->words[i] : word;
    }
    r->argv[n] = NULL;
}

static void become(const struct stage *t, const struct run *r)
{
    char options[160];
    int out = open(t->out, O_WRONLY | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    snprintf(options, sizeof options, "exitcode=%d:abort_on_error=0:allocator_may_return_null=1", SANITIZER_EXIT);
    setenv("ASAN_OPTIONS", options, 1);
    setenv("UBSAN_OPTIONS", "print_stacktrace=1", 1);
    setenv("MUSTER_URL", t->hostile.url, 1);
    execv(r->argv[0], (char *const *)r->argv);
    _exit(127);
}

static void read_text(const char *path, char out[TEXT_MAX])
{
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(out, 1, TEXT_MAX - 1, f) : 0;
    out[n] = '\0';
    if (f)
        fclose(f);
}

static void fail_run(const struct stage *t, const struct run *r, const char *why, int number)
{
    char text[TEXT_MAX], words[512] = "";
    read_text(t->out, text);
    for (size_t i = 1, len = 0; r->argv[i] && len < sizeof words; i++)
        len += (size_t)snprintf(words + len, sizeof words - len, " %s", r->argv[i]);
    fprintf(stderr, "%s\n", text); /* a message of a failed test would be cut */
    fail_msg("MUSTER_TEST_SEED=%llu: muster%s: %s %d; above is what it said", (unsigned long long)r->seed, words, why,
             number);
}

/* Who is told to stop while it is on its way out by itself is ended by the signal. */
static void check_end(struct stage *t, const struct run *r, int status, bool was_told)
{
    static const int codes[] = {0, 1, 2, 3, 4, 69, 74, 75, 77, 124};
    char text[TEXT_MAX];
    if (was_told && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM)
        status = 0;
    if (WIFSIGNALED(status))
        fail_run(t, r, "it was ended by signal", WTERMSIG(status));
    bool is_known = false;
    for (size_t i = 0; i < N_OF(codes); i++)
        is_known |= WEXITSTATUS(status) == codes[i];
    if (!is_known)
        fail_run(t, r, "it ended with", WEXITSTATUS(status));
    read_text(t->out, text);
    if (strstr(text, "; see `muster "))
        fail_run(t, r, "the row is wrong usage; status", WEXITSTATUS(status));
    if (strstr(text, "Sanitizer") || strstr(text, "runtime error"))
        fail_run(t, r, "a sanitizer has a report; status", WEXITSTATUS(status));
    t->figures.codes[WEXITSTATUS(status)]++;
}

static bool is_ready_to_stop(pid_t pid)
{
    char path[40], text[TEXT_MAX];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    read_text(path, text);
    const char *caught = strstr(text, "SigCgt:");
    return caught && (strtoull(caught + strlen("SigCgt:"), NULL, 16) >> (SIGTERM - 1) & 1);
}

/* A worker works for a while from its first words on. */
static bool has_ended_early(struct stage *t, pid_t pid, uint64_t n_before, int *status)
{
    for (int turns = 0; turns < 100 * WORK_MS && (t->hostile.counts->commands == n_before || !is_ready_to_stop(pid));
         turns++)
        if (child_has_ended(pid, 1, status))
            return true;
    return child_has_ended(pid, WORK_MS, status);
}

static void run_row(struct stage *t, struct run *r)
{
    struct figures *f = &t->figures;
    bool works = strcmp(r->row[0], "work") == 0;
    make_argv(t, r);
    hostile_server_start(&t->hostile, t->server->dir, &r->spec);
    uint64_t n_before = t->hostile.counts->commands;
    int64_t began_at = now_ms();
    int status = 0;
    pid_t pid = child_fork();
    if (pid == 0)
        become(t, r);
    bool is_bench = strcmp(r->row[0], "bench") == 0;
    int margin_ms = is_bench ? BENCH_MARGIN_MS : MARGIN_MS;
    bool ended = works ? has_ended_early(t, pid, n_before, &status) : child_has_ended(pid, margin_ms, &status);
    const bool was_told = !ended && works;
    if (was_told) {
        kill(pid, SIGTERM);
        began_at = now_ms();
        ended = child_has_ended(pid, MARGIN_MS, &status);
    }
    int took = (int)(now_ms() - began_at);
    uint64_t fastest = hostile_server_fastest(&t->hostile);
    if (!ended)
        child_kill(&pid);
    hostile_server_stop(&t->hostile);
    if (!ended)
        fail_run(t, r, "it did not end within (ms)", margin_ms);
    check_end(t, r, status, was_told);
    if (fastest > FASTEST && !is_bench)
        fail_run(t, r, "commands within one second:", (int)fastest);
    f->runs++;
    f->slowest_ms = took > f->slowest_ms ? took : f->slowest_ms;
    f->fastest = fastest > f->fastest && !is_bench ? fastest : f->fastest;
}

/* ---- many runs ---- */

typedef const char *const row_words[ARGS_MAX];

/* One run after the other, each with a seed of its own, until the time is over. */
static void run_all(struct stage *t, row_words *from, size_t n, struct hostile_spec spec)
{
    const char *seconds = getenv("MUSTER_FAULT_SECONDS");
    int64_t until = now_ms() + (seconds ? atoi(seconds) * 1000 : SPAN_MS);
    for (uint64_t seed = random_seed(1); now_ms() < until; seed++) {
        struct random random = random_from(seed);
        struct run r = {.row = from[random_below(&random, n)], .seed = seed, .spec = spec};
        r.spec.seed = seed;
        r.spec.percent = spec.percent ? spec.percent : 5 + (unsigned)random_below(&random, 60);
        script_world_restore(&t->world);
        run_row(t, &r);
    }
    const struct figures *f = &t->figures;
    print_message(
        "%u runs, %llu answers, %llu of them nonsense; slowest %d ms, fastest %llu commands a second; exit 0: "
        "%u, 1: %u, 2: %u, 3: %u, 69: %u, 75: %u, 77: %u, 124: %u\n",
        f->runs, (unsigned long long)t->hostile.counts->replies, (unsigned long long)t->hostile.counts->nonsense,
        f->slowest_ms, (unsigned long long)f->fastest, f->codes[0], f->codes[1], f->codes[2], f->codes[3], f->codes[69],
        f->codes[75], f->codes[77], f->codes[124]);
    t->figures = (struct figures){.runs = 0};
    t->hostile.counts->replies = t->hostile.counts->nonsense = 0;
}

static struct stage *set_stage(struct scene *s)
{
    static struct stage t;
    t = (struct stage){.scene = s, .server = s->server};
    snprintf(t.out, sizeof t.out, "%s/said", s->server->dir);
    script_world_make(&t.world, s);
    script_world_keep(&t.world);
    return &t;
}

static void clear_stage(struct stage *t)
{
    hostile_server_stop(&t->hostile);
    script_world_end(&t->world);
}

static void no_nonsense_hurts_a_verb(void **state)
{
    struct stage *t = set_stage(*state);
    run_all(t, rows, N_OF(rows), (struct hostile_spec){.percent = 0});
    clear_stage(t);
}

static void no_changed_answer_hurts_a_verb(void **state)
{
    struct stage *t = set_stage(*state);
    run_all(t, rows, N_OF(rows), (struct hostile_spec){.relay_to = t->server->socket});
    clear_stage(t);
}

static void no_nonsense_hurts_a_worker(void **state)
{
    struct stage *t = set_stage(*state);
    run_all(t, worker_rows, N_OF(worker_rows), (struct hostile_spec){.percent = 0});
    clear_stage(t);
}

static void no_changed_answer_hurts_a_worker(void **state)
{
    struct stage *t = set_stage(*state);
    run_all(t, worker_rows, N_OF(worker_rows), (struct hostile_spec){.relay_to = t->server->socket});
    clear_stage(t);
}

/* The greeting is as it should be, so that the answer reaches whoever asks for more. */
static void run_constant(struct stage *t, row_words *row, const char *answer, uint64_t number)
{
    struct run r = {.row = *row, .seed = number, .spec = {.seed = number, .constant = answer}};
    run_row(t, &r);
}

/* A list of texts that may be anything: members, fields, rows. */
static const char *long_list(void)
{
    static char text[8192];
    size_t n = 200, len = (size_t)snprintf(text, sizeof text, "*%zu\r\n", n);
    while (n-- > 0)
        len += (size_t)snprintf(text + len, sizeof text - len, "$14\r\n00000000001job\r\n");
    return text;
}

static void a_page_that_is_too_long_is_refused(void **state)
{
    static row_words listings[] = {{"jobs", "--queue", "q", "--state", "waiting"},
                                   {"jobs", "--queue", "q", "--state", "failed"},
                                   {"jobs", "--tag", "blue"},
                                   {"jobs", "--tags"},
                                   {"failed", "q"},
                                   {"peek", "q"},
                                   {"queues"},
                                   {"workers"},
                                   {"ps"}};
    struct stage *t = set_stage(*state);
    for (size_t i = 0; i < N_OF(listings); i++)
        run_constant(t, &listings[i], long_list(), i);
    assert_int_equal(t->figures.codes[0], 1); /* peek: a list is no count, so nothing waits */
    clear_stage(t);
}

static void a_status_that_is_no_error_of_ours_is_refused(void **state)
{
    static const char *const answers[] = {":-1000\r\n",
                                          ":-19\r\n", /* E_STOPPED and E_INTERRUPTED are the caller's own */
                                          ":-20\r\n",
                                          ":-21\r\n",
                                          "*1\r\n:-1000\r\n",
                                          "*2\r\n:-9223372036854775808\r\n$1\r\nk\r\n",
                                          ":-9223372036854775808\r\n",
                                          "$-1\r\n",
                                          "*0\r\n",
                                          "+OK\r\n"};
    static row_words calls[] = {
        {"enqueue", "q", "a"}, {"take", "q"}, {"cancel", "q", "a"}, {"put", "q", "d"}, {"pause", "q"}};
    struct stage *t = set_stage(*state);
    for (size_t i = 0; i < N_OF(calls); i++)
        for (size_t a = 0; a < N_OF(answers); a++)
            run_constant(t, &calls[i], answers[a], a);
    assert_int_equal(t->figures.codes[1], N_OF(calls) * N_OF(answers));
    clear_stage(t);
}

static void a_wait_for_a_task_asks_now_and_then(void **state)
{
    static const char *const answers[] = {"*5\r\n:0\r\n:0\r\n:0\r\n$-1\r\n*0\r\n",
                                          "*6\r\n:0\r\n:0\r\n:0\r\n$-1\r\n*0\r\n:0\r\n"};
    static row_words wait = {"take", "none", "--lease", "1m", "--wait", "400ms"};
    struct stage *t = set_stage(*state);
    for (size_t a = 0; a < N_OF(answers); a++)
        run_constant(t, &wait, answers[a], a);
    assert_in_range(t->figures.fastest, 3, 100);
    clear_stage(t);
}

/* A worker that resumes has only the token, and asks for the bytes. */
static void a_task_that_is_no_bytes_does_not_begin(void **state)
{
    static const char *const answers[] = {":1\r\n", "*0\r\n", "*1\r\n$1\r\nx\r\n"};
    static row_words work = {"work",  "q",  "--id", "dead", "--resume", "--ttl", "300ms",   "--drain",
                             "100ms", "-I", "X",    "--",   "sh",       "-c",    "sleep 60"};
    struct stage *t = set_stage(*state);
    for (size_t a = 0; a < N_OF(answers); a++) {
        struct run r = {.row = work,
                        .seed = a,
                        .spec = {.relay_to = t->server->socket, .constant = answers[a], .only = "\r\nHGET\r\n"}};
        script_world_restore(&t->world);
        run_row(t, &r);
    }
    clear_stage(t);
}

/* Each of these looks at a page, and says where the next one begins. */
static void a_check_ends_though_a_script_goes_on_at_the_same_place(void **state)
{
    static const enum script_id scripts[] = {SCRIPT_CHECK_RETURNED, SCRIPT_CHECK_LEASES, SCRIPT_CHECK_IDLE,
                                             SCRIPT_CHECK_INDEX};
    static row_words check = {"check"};
    struct stage *t = set_stage(*state);
    raw_do(t->server->redis, "ZADD %s:returned:q 1 00000000001:-", t->scene->prefix);
    for (size_t i = 0; i < N_OF(scripts); i++) {
        struct run r = {.row = check,
                        .seed = i,
                        .spec = {.relay_to = t->server->socket,
                                 .constant = "*2\r\n:0\r\n:0\r\n",
                                 .only = lua_scripts[scripts[i]].sha1}};
        run_row(t, &r);
    }
    assert_int_equal(t->figures.codes[1], N_OF(scripts));
    clear_stage(t);
}

/* Every verb is told each of these in the long form, and some of them in the short one. */
static void the_same_answer_to_all_makes_nobody_ask_in_a_tight_loop(void **state)
{
    static const char *const answers[] = {"$-1\r\n",
                                          "*-1\r\n",
                                          "*0\r\n",
                                          ":0\r\n",
                                          ":1\r\n",
                                          ":-9223372036854775808\r\n",
                                          ":9223372036854775807\r\n",
                                          "+OK\r\n",
                                          "$1\r\n1\r\n",
                                          "*1\r\n:0\r\n",
                                          "*2\r\n:0\r\n:1\r\n",
                                          "*4\r\n:0\r\n:0\r\n:0\r\n:1\r\n",
                                          "*3\r\n:0\r\n:0\r\n:5\r\n",
                                          "*5\r\n:0\r\n:0\r\n:0\r\n$-1\r\n*0\r\n",
                                          "*2\r\n$1\r\n5\r\n*0\r\n",
                                          "*2\r\n$1\r\n5\r\n*-1\r\n",
                                          "-NOSCRIPT no\r\n",
                                          "-ERR no\r\n",
                                          "-WRONGTYPE no\r\n"};
    struct stage *t = set_stage(*state);
    size_t n = 0, step = getenv("MUSTER_FAULT_SECONDS") ? 1 : 6;
    for (size_t i = 0; i < N_OF(rows); i++)
        for (size_t a = 0; a < N_OF(answers); a++, n++)
            if (n % step == 0)
                run_constant(t, &rows[i], answers[a], n);
    clear_stage(t);
}

static void no_nonsense_hurts_the_benchmark(void **state)
{
    struct stage *t = set_stage(*state);
    run_all(t, bench_rows, N_OF(bench_rows), (struct hostile_spec){.percent = 0});
    clear_stage(t);
}

/* ---- every verb ---- */

static bool has_verb(row_words *from, size_t n, const char *verb)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(from[i][0], verb) == 0)
            return true;
    return false;
}

static bool is_run(const char *verb)
{
    bool is = has_verb(rows, N_OF(rows), verb) || has_verb(worker_rows, N_OF(worker_rows), verb) ||
              has_verb(bench_rows, N_OF(bench_rows), verb);
    for (size_t i = 0; i < N_OF(no_rows); i++)
        is |= strcmp(no_rows[i], verb) == 0;
    return is;
}

static void every_verb_is_run(void **state)
{
    (void)state;
    assert_true(verbs_assert_rows(MUSTER_COMMAND, is_run) > N_OF(no_rows));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_is_run),
        live_test(no_nonsense_hurts_a_verb),
        live_test(no_changed_answer_hurts_a_verb),
        live_test(no_nonsense_hurts_a_worker),
        live_test(no_changed_answer_hurts_a_worker),
        live_test(no_nonsense_hurts_the_benchmark),
        live_test(a_page_that_is_too_long_is_refused),
        live_test(a_status_that_is_no_error_of_ours_is_refused),
        live_test(a_wait_for_a_task_asks_now_and_then),
        live_test(a_task_that_is_no_bytes_does_not_begin),
        live_test(a_check_ends_though_a_script_goes_on_at_the_same_place),
        live_test(the_same_answer_to_all_makes_nobody_ask_in_a_tight_loop),
    };
    return scene_run(tests, argc, argv);
}
