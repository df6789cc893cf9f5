/* SPDX-License-Identifier: MIT
 *
 * Lists on a Redis that sends little in one answer (client-output-buffer-limit): they show what they promise, in more
 * answers. What does not come alone either is told, with the name of the limit. For all, for who may run no script, and
 * for who may not ask for the limit.
 */
#include <muster/batch.h>
#include <muster/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"
#include "limited.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "scene.h"

#define LONG_LEN 100000
#define N_LONG 10
#define N_GROUPS 1500
#define N_WORKERS 1500
#define LEASE_MS 3600000
#define ID_MAX 300

static const char *text(void)
{
    static char bytes[LONG_LEN + 1];
    if (!*bytes)
        memset(bytes, 'a', LONG_LEN);
    return bytes;
}

/* ---- what there is ---- */

static int keep_id(const struct muster_process_info *p, void *id)
{
    snprintf(id, ID_MAX, "%s", p->id);
    return 0;
}

static void take_id(struct scene *s, const char *queue, char id[ID_MAX])
{
    assert_ok(muster_lease_take(s->client, queue, 1, LEASE_MS, 0, keep_id, id));
}

static void fail_next(struct scene *s, const char *queue, size_t message_len)
{
    char id[ID_MAX];
    char *message = strndup(text(), message_len);
    take_id(s, queue, id);
    assert_ok(muster_lease_fail(s->client, id, "g", message));
    free(message);
}

static void put(struct scene *s, const char *queue)
{
    const struct muster_job_spec spec = {
        .size = sizeof spec, .data = {text(), LONG_LEN}, .tags = (const char *[]){"t"}, .n_tags = 1};
    assert_ok(muster_job_put(s->client, queue, &spec, NULL));
}

static void enqueue(struct scene *s, const char *queue)
{
    assert_ok(muster_task_enqueue(s->client, queue, text(), LONG_LEN, NULL));
}

static void make_all(struct scene *s)
{
    char id[ID_MAX];
    for (int i = 0; i < N_LONG; i++) {
        enqueue(s, "waiting");
        put(s, "waiting");
        enqueue(s, "back");
        take_id(s, "back", id);
        enqueue(s, "held");
        take_id(s, "held", id);
        enqueue(s, "failed");
        fail_next(s, "failed", 1000);
        put(s, "jobs");
        fail_next(s, "jobs", MUSTER_MESSAGE_MAX);
        enqueue(s, "delayed");
        take_id(s, "delayed", id);
        assert_ok(muster_lease_retry(s->client, id, LEASE_MS));
    }
}

/* ---- what is shown ---- */

static int note(int *n, const void *data, size_t len, uint64_t whole)
{
    assert_int_equal(whole, LONG_LEN);
    assert_int_equal(len, MUSTER_HEAD_MAX);
    assert_memory_equal(data, text(), len);
    ++*n;
    return 0;
}

static int note_task(const struct muster_task *t, void *n)
{
    return note(n, t->data, t->len, t->whole_len);
}

static int note_delayed(const struct muster_delayed_task *t, void *n)
{
    return note(n, t->data, t->len, t->whole_len);
}

static int note_process(const struct muster_process_info *p, void *n)
{
    return note(n, p->task, p->len, p->whole_len);
}

static int note_failure(const struct muster_failure *f, void *n)
{
    return note(n, f->task, f->len, f->whole_len);
}

static int note_job(const struct muster_job *j, void *n)
{
    return note(n, j->data.data, j->data.len, j->whole_len);
}

static int peek(struct muster_client *c, int *n)
{
    return muster_task_peek(c, "waiting", 0, 99, note_task, n);
}

static int peek_delayed(struct muster_client *c, int *n)
{
    return muster_task_peek_delayed(c, "delayed", 0, 99, note_delayed, n);
}

static int processes(struct muster_client *c, int *n)
{
    return muster_process_list(
        c, &(struct muster_process_filter){.size = sizeof(struct muster_process_filter), .queue = "held"}, note_process,
        n);
}

static int failures(struct muster_client *c, int *n)
{
    return muster_failed_list(
        c, &(struct muster_failed_filter){.size = sizeof(struct muster_failed_filter), .queue = "failed"}, note_failure,
        n);
}

static int list_jobs(struct muster_client *c, struct muster_job_filter f, int *n)
{
    f.size = sizeof f;
    return muster_job_list(c, &f, note_job, n);
}

static int newest_jobs(struct muster_client *c, int *n)
{
    return list_jobs(c, (struct muster_job_filter){.order = MUSTER_JOBS_NEWEST}, n);
}

static int jobs_of_tag(struct muster_client *c, int *n)
{
    return list_jobs(c, (struct muster_job_filter){.tag = "t"}, n);
}

static int failed_jobs(struct muster_client *c, int *n)
{
    return list_jobs(c, (struct muster_job_filter){.queue = "jobs", .state = MUSTER_JOB_FAILED}, n);
}

static const struct list {
    int (*show)(struct muster_client *c, int *n);
    int n;
} lists[] = {{peek, 2 * N_LONG},        {peek_delayed, N_LONG},    {processes, N_LONG},  {failures, N_LONG},
             {newest_jobs, 2 * N_LONG}, {jobs_of_tag, 2 * N_LONG}, {failed_jobs, N_LONG}};

static void assert_all_shown(struct muster_client *c)
{
    for (size_t i = 0; i < N_OF(lists); i++) {
        int n = 0;
        if (lists[i].show(c, &n) != MUSTER_OK)
            fail_msg("list %zu: %s", i, muster_client_error(c));
        assert_int_equal(n, lists[i].n);
    }
}

static struct muster_client *client_of(struct scene *s, const char *rights)
{
    struct muster_client *c;
    char url[300];
    raw_do(s->server->redis, "ACL SETUSER somebody reset on >secret ~* &* +@all %s", rights);
    snprintf(url, sizeof url, "unix://somebody:secret@%s", s->server->socket);
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = url,
                                                                    .prefix = s->prefix}));
    return c;
}

static void lists_are_read_in_more_answers(void **state)
{
    static const char *const limits[] = {"normal 700000 0 0", "normal 300000 0 0", "normal 160000 0 0"};
    static const char *const rights[] = {"-ping", "-config"};
    struct scene *s = *state;
    make_all(s);
    for (size_t i = 0; i < N_OF(limits) * N_OF(rights); i++) {
        struct muster_client *c = client_of(s, rights[i % N_OF(rights)]);
        limited_set(s, limits[i / N_OF(rights)]);
        assert_all_shown(c);
        muster_client_free(c);
    }
}

/* Plain commands cut nothing; but of a hash they tell how long a value is. */
static int count_task(const struct muster_task *t, void *n)
{
    assert_int_equal(t->whole_len, LONG_LEN);
    ++*(int *)n;
    return 0;
}

static int count_process(const struct muster_process_info *p, void *n)
{
    assert_int_equal(p->whole_len, LONG_LEN);
    ++*(int *)n;
    return 0;
}

static void lists_without_scripts_are_read_in_more_answers(void **state)
{
    static const char *const limits[] = {"normal 700000 0 0", "normal 300000 0 0"};
    struct scene *s = *state;
    make_all(s);
    for (size_t i = 0; i < N_OF(limits); i++) {
        struct muster_client *c = client_of(s, "-@scripting");
        int waiting = 0, held = 0;
        limited_set(s, limits[i]);
        assert_ok(muster_task_peek(c, "waiting", 0, 99, count_task, &waiting));
        assert_int_equal(waiting, 2 * N_LONG);
        assert_ok(muster_process_list(
            c, &(struct muster_process_filter){.size = sizeof(struct muster_process_filter), .queue = "held"},
            count_process, &held));
        assert_int_equal(held, N_LONG);
        muster_client_free(c);
    }
}

/* What an answer has left out, the script may not ask for alone. So it is read by plain commands, all of it. */
static void lists_are_read_where_a_script_is_denied_the_rest(void **state)
{
    struct scene *s = *state;
    make_all(s);
    struct muster_client *c = client_of(s, "-hget");
    assert_all_shown(c);
    muster_client_free(c);
}

/* ---- many that are short ---- */

static int count_worker(const struct muster_worker_info *w, void *n)
{
    (void)w;
    ++*(int *)n;
    return 0;
}

static int count_group(const struct muster_failed_group *g, void *n)
{
    (void)g;
    ++*(int *)n;
    return 0;
}

static void what_is_many_together_is_read_in_more_answers(void **state)
{
    struct scene *s = *state;
    int workers = 0, groups = 0;
    for (int i = 0; i < N_WORKERS; i++) {
        raw_do(s->server->redis, "ZADD %s:registry %d w%0180d", s->prefix, i, i);
        raw_do(s->server->redis, "HSET %s:worker:w%0180d host %01000d", s->prefix, i, i);
    }
    for (int i = 0; i < N_GROUPS; i++)
        raw_do(s->server->redis, "HSET %s:failures:q g:g%0180d 1", s->prefix, i);
    limited_set(s, "normal 100000 0 0");
    assert_ok(muster_worker_list(s->client, count_worker, &workers));
    assert_int_equal(workers, N_WORKERS);
    assert_ok(muster_failed_groups(s->client, "q", count_group, &groups));
    assert_int_equal(groups, N_GROUPS);
}

/* ---- what fills an answer ---- */

/* As many bytes as the script sends in one answer, with the times that stand beside them or without. */
#define ROOM ((size_t)256 * 1024)
#define N_DELAYED 8 /* as many as are asked for at once */
#define N_FAILED 4
#define STEP 8
#define AROUND 160

static int count_delayed(const struct muster_delayed_task *t, void *n)
{
    *(int *)n += t->len == t->whole_len;
    return 0;
}

static int count_failure(const struct muster_failure *f, void *n)
{
    *(int *)n += f->len == f->whole_len;
    return 0;
}

/* `n` members of so many bytes. */
static void fill(struct scene *s, const char *key, size_t n, const char *head, size_t len)
{
    static char member[ROOM];
    raw_do(s->server->redis, "DEL %s:%s", s->prefix, key);
    for (size_t i = 0; i < n; i++) {
        memset(member, 'a', len);
        member[len] = '\0';
        int head_len = snprintf(member, len, "%011zu:%s", i, head);
        member[head_len] = 'a';
        raw_do(s->server->redis, "ZADD %s:%s 170000000000000%d %s", s->prefix, key, (int)i, member);
    }
}

static void what_just_fills_an_answer_is_shown_whole(void **state)
{
    struct scene *s = *state;
    for (size_t less = 0; less < AROUND; less += STEP) {
        int n = 0;
        fill(s, "delayed:q", N_DELAYED, "", (ROOM - less) / N_DELAYED);
        assert_ok(muster_task_peek_delayed(s->client, "q", 0, 99, count_delayed, &n));
        assert_int_equal(n, N_DELAYED);
        n = 0;
        fill(s, "failed:q", N_FAILED, "1:1:0:wg", (ROOM - less) / N_FAILED);
        assert_ok(muster_failed_list(
            s->client, &(struct muster_failed_filter){.size = sizeof(struct muster_failed_filter), .queue = "q"},
            count_failure, &n));
        assert_int_equal(n, N_FAILED);
    }
}

/* ---- what does not come ---- */

static void what_does_not_come_names_the_limit(void **state)
{
    struct scene *s = *state;
    make_all(s);
    limited_set(s, "normal 50000 0 0");
    for (size_t i = 0; i < N_OF(lists); i++) {
        int n = 0;
        assert_int_equal(lists[i].show(s->client, &n), MUSTER_E_TOO_BIG);
        assert_non_null(
            strstr(muster_client_error(s->client), "client-output-buffer-limit for normal clients of 50000"));
    }
}

/* ---- connections that end for another reason ---- */

static struct muster_client *client_by(struct scene *s, const struct proxy *proxy, const char *rights)
{
    struct muster_client *c;
    char url[300];
    raw_do(s->server->redis, "ACL SETUSER somebody reset on >secret ~* &* +@all -config %s", rights);
    snprintf(url, sizeof url, "unix://somebody:secret@%s", proxy->socket);
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = url,
                                                                    .prefix = s->prefix}));
    return c;
}

static int look(struct muster_client *c, muster_job_fn *fn)
{
    int n = 0;
    assert_ok(muster_job_peek(c, (const char *const[]){"j"}, 1, fn, &n));
    return n;
}

static int count_job(const struct muster_job *j, void *n)
{
    assert_int_equal(j->whole_len, LONG_LEN);
    ++*(int *)n;
    return 0;
}

/* Nobody knows why they ended. One that ends again is reason enough to show less, for that time. */
static void what_was_not_too_much_is_shown_again(void **state)
{
    static const char *const rights[] = {"-@scripting", "-ping"}; /* and none asks for the limit */
    struct scene *s = *state;
    struct proxy proxy;
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "j", .data = {text(), LONG_LEN}};
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
    proxy_start(&proxy, s->server->dir, s->server->socket);
    for (size_t i = 0; i < N_OF(rights); i++) {
        struct muster_client *c = client_by(s, &proxy, rights[i]);
        for (int ends = 0; ends < 4; ends++) {
            proxy_trap(&proxy, lua_scripts[SCRIPT_HEADS].sha1, PROXY_REPLIES);
            assert_int_equal(look(c, note_job), 1);
        }
        proxy_trap_n(&proxy, i == 0 ? "HSTRLEN" : lua_scripts[SCRIPT_HEADS].sha1, PROXY_REPLIES, i == 0 ? 6 : 3,
                     PROXY_ACCEPTS);
        look(c, count_job);
        look(c, count_job);
        assert_int_equal(look(c, note_job), 1);
        muster_client_free(c);
    }
    assert_int_equal(proxy_count(&proxy).trapped, 17);
    proxy_stop(&proxy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        limited_test(lists_are_read_in_more_answers),
        limited_test(lists_without_scripts_are_read_in_more_answers),
        limited_test(lists_are_read_where_a_script_is_denied_the_rest),
        limited_test(what_is_many_together_is_read_in_more_answers),
        limited_test(what_just_fills_an_answer_is_shown_whole),
        limited_test(what_does_not_come_names_the_limit),
        limited_test(what_was_not_too_much_is_shown_again),
    };
    return scene_run(tests, argc, argv);
}
