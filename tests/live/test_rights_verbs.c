/* SPDX-License-Identifier: MIT
 *
 * Each verb of the command for each role of examples/users.acl, on a full Redis, and while its rights are taken away:
 * an answer in words and one of muster's exit codes, never a signal. What the calls behind them answer, in all ways, is
 * in test_rights.c.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "rights.h"
#include "script_world.h"
#include "verbs.h"

#define ARGS_MAX 16
#define TEXT_MAX 16384
#define DENIED 77
#define NO_REDIS 69
#define FULL 75
#define END_MS 20000
#define SANITIZER_EXIT 86

/* Who may do it gets a --timeout; who may not is denied, however long that takes. */
#define FOR_A_WHILE "@while"

/* A verb, and the roles that may do it, by their first letters. "@NAME" stands for a process of the world. */
struct row {
    const char *roles, *words[ARGS_MAX];
};

static const struct row rows[] = {
    {"pw-o", {"enqueue", "q", "a", "b"}},
    {"-w-o", {"enqueue", "q", "u", "--wait", FOR_A_WHILE}},
    {"pw-o", {"put", "q", "data", "--id", "new", "--tag", "t"}},
    {"-w-o", {"put", "q", "data", "--id", "waited", "--wait", FOR_A_WHILE}},
    {"pw-o", {"batch", "open", "new", "--on-end", "q=x"}},
    {"pwvo", {"batches"}},
    {"-w--", {"work", "q", "--burst", "--print", "--ttl", "300ms", "--drain", "100ms"}},
    {"pwvo", {"queues"}},
    {"pwvo", {"workers"}},
    {"pwvo", {"ps"}},
    {"pwvo", {"peek", "q"}},
    {"-w-o", {"take", "none", "--lease", "1m", "--wait", "50ms"}},
    {"pw-o", {"finish", "@leased"}},
    {"pw-o", {"give-back", "@leased"}},
    {"pw-o", {"retry", "@leased_job", "--delay", "1m"}},
    {"pw-o", {"fail", "@leased", "--group", "g"}},
    {"pw-o", {"extend", "@leased", "--lease", "1m"}},
    {"pw-o", {"cancel", "q", "t1"}},
    {"pw-o", {"pause", "q"}},
    {"pw-o", {"resume", "q"}},
    {"---o", {"delete", "q", "--yes"}},
    {"pwvo", {"job", "waiting"}},
    {"-w-o", {"wait", "waiting", FOR_A_WHILE}},
    {"pwvo", {"jobs"}},
    {"pw-o", {"change", "waiting", "--priority", "3"}},
    {"pwvo", {"failed"}},
    {"pw-o", {"replay", "q", "--all"}},
    {"pw-o", {"drop", "q", "--all"}},
    {"pwvo", {"stats"}},
    {"-w-o", {"listen", "q", FOR_A_WHILE}},
    {"-w-o", {"events", FOR_A_WHILE}},
    {"pw-o", {"config", "--queue", "q", "max_running=2"}},
    {"-w-o", {"sweep"}},
    {"-w-o", {"fail-worker", "dead"}},
    {"---o", {"check"}},
    {"pwvo", {"doctor"}},
    {"-w-o", {"upgrade"}},
    {"pwvo", {"completion", "--candidates", "--", "peek", ""}},
};

/* serve and bench have users of their own, help asks nobody; top and web ask by the verbs above, and go on. */
static const char *const no_rows[] = {"serve", "bench", "help", "top", "web"};

/* What waits; and how it ends by itself without its channels, scripts, or all commands. */
#define GOES_ON (-1)
static const struct wait {
    struct row row;
    int ends[3];
} waits[] = {
    {{"-w-o", {"wait", "waiting"}}, {DENIED, GOES_ON, DENIED}},
    {{"-w-o", {"put", "q", "data", "--wait"}}, {DENIED, GOES_ON, DENIED}},
    {{"-w-o", {"enqueue", "q", "u", "--wait"}}, {DENIED, GOES_ON, DENIED}},
    {{"-w-o", {"take", "none", "--wait", "1h"}}, {DENIED, DENIED, DENIED}},
    {{"-w-o", {"listen", "q"}}, {GOES_ON, GOES_ON, GOES_ON}},
    {{"-w-o", {"events"}}, {NO_REDIS, DENIED, DENIED}},
    {{"-w-o", {"work", "none", "--print", "--ttl", "600ms", "--drain", "100ms"}}, {GOES_ON, GOES_ON, GOES_ON}},
    {{"pwvo", {"web", "--listen", "127.0.0.1:0"}}, {GOES_ON, GOES_ON, GOES_ON}},
};

struct run {
    const struct row *row;
    bool may;
    char url[160], said[120];
    pid_t pid;
    int status;
    bool was_told; /* to stop */
};

struct stage {
    struct scene *scene;
    struct script_world world;
};

static const char *word_of(const struct stage *t, const char *word, char room[64])
{
    const struct script_world *w = &t->world;
    if (*word != '@')
        return word;
    snprintf(room, 64, ".lease:%s:q", strcmp(word, "@leased") == 0 ? w->leased : w->leased_job);
    return room;
}

static void become(const struct stage *t, const struct run *r)
{
    const char *argv[ARGS_MAX + 6] = {MUSTER_COMMAND, r->row->words[0], "--prefix", t->scene->prefix};
    int argc = 4;
    char rooms[ARGS_MAX][64], options[40];
    int said = open(r->said, O_WRONLY | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_RDWR);
    for (size_t i = 1; i < ARGS_MAX && r->row->words[i]; i++)
        if (strcmp(r->row->words[i], FOR_A_WHILE) != 0)
            argv[argc++] = word_of(t, r->row->words[i], rooms[i]);
        else if (r->may)
            argv[argc++] = "--timeout=50ms";
    dup2(null, STDIN_FILENO);
    dup2(said, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    snprintf(options, sizeof options, "exitcode=%d", SANITIZER_EXIT);
    setenv("ASAN_OPTIONS", options, 1);
    setenv("MUSTER_URL", r->url, 1);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

static void begin_run(const struct stage *t, struct run *r, const struct row *row, const char *user, size_t i)
{
    *r = (struct run){.row = row, .may = !strchr("pwvo", *user) || strchr(row->roles, *user)};
    rights_url(t->scene, user, r->url);
    snprintf(r->said, sizeof r->said, "%s/said%zu", t->scene->server->dir, i);
    r->pid = child_fork();
    if (r->pid == 0)
        become(t, r);
}

static void read_said(const struct run *r, char text[TEXT_MAX])
{
    FILE *f = fopen(r->said, "r");
    size_t n = f ? fread(text, 1, TEXT_MAX - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
}

static void fail_run(const struct run *r, const char *how, const char *why, int number)
{
    char text[TEXT_MAX], words[300] = "";
    read_said(r, text);
    for (size_t i = 0, len = 0; r->row->words[i] && len < sizeof words; i++)
        len += (size_t)snprintf(words + len, sizeof words - len, " %s", r->row->words[i]);
    fprintf(stderr, "%s\n", text); /* a message of a failed test would be cut */
    fail_msg("%s: muster%s: %s %d; above is what it said", how, words, why, number);
}

static void tell_to_stop(struct run *r)
{
    r->was_told = true;
    kill(r->pid, SIGTERM);
}

/* doctor prints what it has found. */
static bool has_words(const struct run *r, const char *text)
{
    char name[40];
    snprintf(name, sizeof name, "muster %s: ", r->row->words[0]);
    return strstr(text, strcmp(r->row->words[0], "doctor") == 0 ? "mend " : name);
}

/* Returns the exit code. 0 and 3 (not there) may need no words. */
static int end_run(struct run *r, const char *how)
{
    static const int codes[] = {0, 1, 3, NO_REDIS, FULL, DENIED, 124};
    char text[TEXT_MAX];
    if (!child_has_ended(r->pid, END_MS, &r->status)) {
        child_kill(&r->pid);
        fail_run(r, how, "it did not end within (ms)", END_MS);
    }
    if (WIFSIGNALED(r->status) && r->was_told && WTERMSIG(r->status) == SIGTERM)
        return 0;
    if (WIFSIGNALED(r->status))
        fail_run(r, how, "it was ended by signal", WTERMSIG(r->status));
    const int code = WEXITSTATUS(r->status);
    bool is_known = false;
    for (size_t i = 0; i < N_OF(codes); i++)
        is_known |= codes[i] == code;
    read_said(r, text);
    if (!is_known || strstr(text, "Sanitizer") || strstr(text, "runtime error"))
        fail_run(r, how, "it ended with", code);
    if (code != 0 && code != 3 && !has_words(r, text))
        fail_run(r, how, "no words for", code);
    return code;
}

static struct stage *set_stage(struct scene *s)
{
    static struct stage t;
    t = (struct stage){.scene = s};
    script_world_make(&t.world, s);
    script_world_keep(&t.world);
    return &t;
}

static void every_verb_answers_every_role_in_words(void **state)
{
    struct stage *t = set_stage(*state);
    struct rights rights;
    struct run r;
    for (const char *const *role = rights_roles; *role; role++) {
        rights_read(&rights, *role, t->scene->prefix);
        rights_give(t->scene, *role, &rights, NULL);
        for (size_t i = 0; strcmp(*role, "muster") != 0 && i < N_OF(rows); i++) {
            script_world_restore(&t->world);
            begin_run(t, &r, &rows[i], *role, 0);
            int code = end_run(&r, *role);
            if ((code == DENIED) != !strchr(rows[i].roles, **role))
                fail_run(&r, *role, "who may do this, and who may not? It ended with", code);
        }
    }
    script_world_end(&t->world);
}

static void every_verb_answers_in_words_on_a_full_redis(void **state)
{
    struct stage *t = set_stage(*state);
    struct redisContext *redis = t->scene->server->redis;
    struct rights all;
    struct run r;
    rights_read(&all, "muster", t->scene->prefix);
    rights_give(t->scene, "u", &all, NULL);
    for (size_t i = 0; i < N_OF(rows); i++) {
        if (strchr(rows[i].roles, 'v'))
            continue; /* it writes nothing */
        script_world_restore(&t->world);
        raw_do(redis, "CONFIG SET maxmemory 1");
        begin_run(t, &r, &rows[i], "u", 0);
        (void)end_run(&r, "full");
        raw_do(redis, "CONFIG SET maxmemory 0");
    }
    script_world_end(&t->world);
}

/* ---- while it waits ---- */

static const char *const losses[][4] = {{"resetchannels"}, {"-evalsha", "-eval"}, {"-@all"}};

struct waiter {
    struct run run;
    struct scene *scene;
    char user[16];
};

/* It waits for something: as a subscriber, or web for requests. */
static bool waits_now(void *arg)
{
    const struct waiter *w = arg;
    char text[TEXT_MAX], *list = raw_string(w->scene->server->redis, "CLIENT LIST"), *rest, user[32];
    bool is = false;
    snprintf(user, sizeof user, " user=%s ", w->user);
    for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        is |= strstr(line, user) && !(strstr(line, " sub=0 ") && strstr(line, " ssub=0 "));
    free(list);
    read_said(&w->run, text);
    return is || strstr(text, "listens at");
}

static void take_away(const struct waiter *w, const char *const *rights)
{
    const char *argv[8] = {"ACL", "SETUSER", w->user};
    int argc = 3;
    for (; *rights; rights++)
        argv[argc++] = *rights;
    redisReply *reply = redisCommandArgv(w->scene->server->redis, argc, argv, NULL);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static void begin_to_wait(const struct stage *t, struct waiter *w, const struct rights *all, size_t i)
{
    w->scene = t->scene;
    snprintf(w->user, sizeof w->user, "user%zu", i);
    rights_give(t->scene, w->user, all, NULL);
    begin_run(t, &w->run, &waits[i].row, w->user, i);
}

/* What goes on without its rights ends when it is told to. */
static void a_verb_that_waits_answers_in_words_when_its_rights_go(void **state)
{
    struct stage *t = set_stage(*state);
    struct waiter waiters[N_OF(waits)];
    struct rights all;
    rights_read(&all, "muster", t->scene->prefix);
    for (size_t l = 0; l < N_OF(losses); l++) {
        script_world_restore(&t->world);
        for (size_t i = 0; i < N_OF(waits); i++)
            begin_to_wait(t, &waiters[i], &all, i);
        for (size_t i = 0; i < N_OF(waits); i++)
            wait_until(waits_now, &waiters[i], 3 * SOON_MS);
        for (size_t i = 0; i < N_OF(waits); i++)
            take_away(&waiters[i], losses[l]);
        for (size_t i = 0; i < N_OF(waits); i++) {
            const bool goes_on = waits[i].ends[l] == GOES_ON;
            if (goes_on)
                tell_to_stop(&waiters[i].run);
            int code = end_run(&waiters[i].run, losses[l][0]);
            if (!goes_on && code != waits[i].ends[l])
                fail_run(&waiters[i].run, losses[l][0], "it ended by itself with", code);
        }
    }
    script_world_end(&t->world);
}

static bool has_row(const char *verb)
{
    bool has = false;
    for (size_t i = 0; i < N_OF(rows); i++)
        has |= strcmp(rows[i].words[0], verb) == 0;
    for (size_t i = 0; i < N_OF(no_rows); i++)
        has |= strcmp(no_rows[i], verb) == 0;
    return has;
}

static void every_verb_has_a_row(void **state)
{
    (void)state;
    assert_true(verbs_assert_rows(MUSTER_COMMAND, has_row) > N_OF(no_rows));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_has_a_row),
        live_test(every_verb_answers_every_role_in_words),
        live_test(every_verb_answers_in_words_on_a_full_redis),
        live_test(a_verb_that_waits_answers_in_words_when_its_rights_go),
    };
    return scene_run(tests, argc, argv);
}
