/* SPDX-License-Identifier: MIT
 *
 * The scripts' commands against the contract that heads each .lua file, which is sent with the script: every argument
 * stands in the place that the contract gives it, and there are as many as it declares. When a command is sent, the
 * root of all channels is added. What comes back is for test_script_answers.c.
 */
#include <muster/version.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "protocol/script_batch.h"
#include "protocol/script_check.h"
#include "protocol/script_job.h"
#include "protocol/script_queue.h"
#include "protocol/script_task.h"
#include "protocol/script_timer.h"
#include "protocol/script_upgrade.h"
#include "protocol/script_worker.h"
#include "testing.h"

#define EVALSHA_LEN 4 /* EVALSHA, digest, number of keys, key */
#define EPOCH "0123456789a"

/* Every call of a worker begins with whose call it is. */
#define CALLER "worker", "w-1", "epoch", EPOCH, "connection number", "7"

static struct script_root root;
static const struct script_caller caller = {.worker = "w-1", .epoch = EPOCH, .conn = 7, .hands = 5};
static const struct script_queue queues[] = {{"a", 0}, {"b:c", 2}};

static int make_root(void **state)
{
    (void)state;
    script_root_init(&root, "p", 3);
    return 0;
}

/* The contract: the comment that the script begins with. */
static void contract_of(enum script_id id, char *out, size_t size)
{
    const char *body = (const char *)lua_scripts[id].body;
    const char *end = memmem(body, lua_scripts[id].len, "]]", 2);
    assert_non_null(end);
    assert_true((size_t)(end - body) < size);
    memcpy(out, body, (size_t)(end - body));
    out[end - body] = '\0';
}

static void assert_argument(const struct command *c, size_t i, const char *value)
{
    assert_true(i < c->n);
    if (c->lens[i] != strlen(value) || memcmp(c->argv[i], value, c->lens[i]) != 0)
        fail_msg("argument %zu is '%.*s', expected '%s'", i, (int)c->lens[i], c->argv[i], value);
}

static void assert_head(const struct command *c, enum script_id id)
{
    assert_false(c->failed);
    assert_argument(c, 0, "EVALSHA");
    assert_int_equal(strlen(lua_scripts[id].sha1), 40);
    assert_argument(c, 1, lua_scripts[id].sha1);
    assert_argument(c, 2, "1");
    assert_argument(c, 3, "p:");
}

/*
 * `pairs`: for ARGV[1], ARGV[2], ... how the contract's words for it begin, and what the command must hold there; NULL
 * at the end. `rest`: what follows, with a '|' before each; NULL: the contract must not allow any. Clears the command.
 */
static void assert_command(struct command *c, enum script_id id, const char *rest, const char *const *pairs)
{
    char contract[4096], words[128], found[256] = "";
    size_t n = 0;
    contract_of(id, contract, sizeof contract);
    assert_head(c, id);
    assert_non_null(strstr(contract, "KEYS[1]"));
    assert_null(strstr(contract, "KEYS[2"));
    for (; pairs[2 * n]; n++) {
        snprintf(words, sizeof words, "ARGV[%zu] %s", n + 1, pairs[2 * n]);
        if (!strstr(contract, words))
            fail_msg("%s.lua: no '%s' in its contract", lua_scripts[id].name, words);
        assert_argument(c, EVALSHA_LEN + n, pairs[2 * n + 1]);
    }
    snprintf(words, sizeof words, rest ? "ARGV[%zu...]" : "ARGV[%zu", n + 1);
    if (!strstr(contract, words) != !rest)
        fail_msg("%s.lua: '%s' in its contract", lua_scripts[id].name, words);
    for (size_t i = EVALSHA_LEN + n; i < c->n; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "|%.*s", (int)c->lens[i], c->argv[i]);
    assert_string_equal(found, rest ? rest : "");
    n = c->n;
    command_close(c);
    assert_argument(c, n, "p@3"); /* the root of all channels follows, once */
    command_close(c);
    assert_int_equal(c->n, n + 1);
    command_clear(c);
}
#define assert_script(c, id, rest, ...) assert_command(c, id, rest, (const char *const[]){__VA_ARGS__, NULL})

static void enqueue_gives_the_tasks_after_queue_and_end(void **state)
{
    const struct muster_bytes tasks[] = {{"one", 3}, {NULL, 0}, {"three", 5}};
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_enqueue(&c, &root, &(struct script_enqueue){.queue = "b:c", .tasks = tasks, .n = N_OF(tasks)});
    assert_script(&c, SCRIPT_ENQUEUE, "|one||three", "queue", "b:c", "\"1\": at the front", "0", "request id", "",
                  "number of this chunk", "0", "number of tasks in the whole request", "0");
    script_enqueue(&c, &root, &(struct script_enqueue){.queue = "q", .front = 1, .tasks = tasks, .n = 1});
    assert_script(&c, SCRIPT_ENQUEUE, "|one", "queue", "q", "\"1\": at the front", "1", "request id", "",
                  "number of this chunk", "0", "number of tasks in the whole request", "0");
    script_enqueue(&c, &root, &(struct script_enqueue){.queue = "q", .request_id = "r 1", .chunk = 2, .of = 500});
    assert_script(&c, SCRIPT_ENQUEUE, "", "queue", "q", "\"1\": at the front", "0", "request id", "r 1",
                  "number of this chunk", "2", "number of tasks in the whole request", "500");
}

static void tasks_go_as_the_bytes_that_they_are(void **state)
{
    const struct muster_bytes task = {"a\0b", 3};
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_enqueue(&c, &root, &(struct script_enqueue){.queue = "q", .tasks = &task, .n = 1});
    assert_ptr_equal(c.argv[c.n - 1], task.data);
    assert_int_equal(c.lens[c.n - 1], 3);
    command_clear(&c);
}

static void start_tells_all_about_the_worker(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    const struct script_start start = {
        .worker = "w-1", .nonce = "n1", .host = "h1", .ttl_ms = 3000, .hands = 4, .resume = 1, .pid = 77};
    script_start(&c, &root, &start);
    assert_script(&c, SCRIPT_START, NULL, "worker", "w-1", "nonce", "n1", "ttl", "3000", "hands", "4", "host", "h1",
                  "pid", "77", "version", MUSTER_VERSION, "the layout's version", FORMAT_VERSION, "\"1\": permanent",
                  "0", "\"1\": resume", "1");
}

static void serve_names_one_queue(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_serve(&c, &root, &caller, &queues[1], 4);
    assert_script(&c, SCRIPT_SERVE, NULL, CALLER, "queue", "b:c", "the worker's limit of hands", "2",
                  "the worker's hands", "4");
}

static void share_gives_up_and_offers(void **state)
{
    struct command c = COMMAND_EMPTY;
    char one[] = "t1:e:w:f:v", two[] = "t2:e:w:f:v";
    (void)state;
    script_share(&c, &root, &caller,
                 &(struct script_share){.queue = "a",
                                        .was_unheard = true,
                                        .given_up = (char *const[]){one, two},
                                        .n_given_up = 2,
                                        .tokens = (const char *const[]){"t3", "t4"},
                                        .n_tokens = 2});
    assert_script(&c, SCRIPT_SHARE, "|t1:e:w:f:v|t2:e:w:f:v|t3|t4", CALLER, "queue", "a",
                  "\"1\": the answer to an earlier call", "1", "how many reservations are given up", "2");
}

static void turn_gives_the_queues_and_then_the_ends(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_turn(&c, &root, &caller,
                &(struct script_turn){.want = 3, .how = ENDS_TOGETHER, .queues = queues, .n_queues = N_OF(queues)});
    assert_script(&c, SCRIPT_TURN, "|a|0|b:c|2", CALLER, "hands", "5", "how many to take", "3",
                  "\"1\": end them one by one", "0", "how many queues", "2");

    script_turn(&c, &root, &caller, &(struct script_turn){.want = 0, .how = ENDS_ONE_BY_ONE});
    script_end_group(&c, "finish", "a", 2);
    command_text(&c, "t1");
    command_text(&c, "t2");
    script_end_result(&c, "b", "t5", (struct muster_bytes){"done", 4});
    script_end_retry(&c, "b", "t3", 1500, NULL, NULL);
    script_end_retry(&c, "b", "t6", -1, "group", "why");
    script_end_done(&c, "b", "t7");
    script_end_move(&c, "b", "tA", "tA:e:w:f:v");
    script_end_next(&c, "b", "t8", &(struct script_next){.queue = "n", .delay_ms = 30, .after = "x\ny\n"});
    script_end_next(&c, "b", "t9",
                    &(struct script_next){.result = &(struct muster_bytes){"", 0}, .queue = "n", .after = ""});
    script_end_fail(&c, "c", "t4", "group", "");
    assert_script(&c, SCRIPT_TURN,
                  "|finish|a|2|t1|t2|result|b|t5|done|retry|b|t3|1500|||retry|b|t6||group|why|"
                  "done|b|t7|move|b|tA|tA:e:w:f:v|next|b|t8|0||n|30|x\ny\n|next|b|t9|1||n|0||fail|c|t4|group|",
                  CALLER, "hands", "5", "how many to take", "0", "\"1\": end them one by one", "1", "how many queues",
                  "0");
}

/* The forms of the ends have no ARGV numbers: the include that reads them has them in words. */
static void the_ends_have_the_forms_that_are_read(void **state)
{
    static const char *const forms[] = {
        "\"finish\" queue k token*k ",         "\"result\" queue token bytes ",
        "\"back\" queue k token*k ",           "\"retry\" queue token delay_ms ",
        "\"fail\" queue token group message ", "\"done\" queue token ",
        "\"move\" queue token reservation ",   "\"next\" queue token has bytes next delay_ms ids "};
    static const enum script_id readers[] = {SCRIPT_TURN, SCRIPT_END};
    (void)state;
    for (size_t r = 0; r < N_OF(readers); r++)
        for (size_t i = 0; i < N_OF(forms); i++)
            if (!memmem(lua_scripts[readers[r]].body, lua_scripts[readers[r]].len, forms[i], strlen(forms[i])))
                fail_msg("%s.lua does not say '%s'", lua_scripts[readers[r]].name, forms[i]);
}

static void end_says_whose_process_and_then_its_end(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_end(&c, &root, MUSTER_LEASE_ID);
    script_end_group(&c, "back", "b:c", 1);
    command_text(&c, "t1");
    assert_script(&c, SCRIPT_END, "|back|b:c|1|t1", "worker, or \".lease\"", ".lease");
    script_end(&c, &root, "w-1");
    script_end_result(&c, "q", "t1", (struct muster_bytes){NULL, 0});
    assert_script(&c, SCRIPT_END, "|result|q|t1|", "worker, or \".lease\"", "w-1");
    script_end(&c, &root, "w-1");
    script_end_done(&c, "q", "t1");
    script_end_more(&c, MUSTER_LEASE_ID);
    script_end_done(&c, "b:c", "t2");
    assert_script(&c, SCRIPT_END, "|done|q|t1|.lease|done|b:c|t2", "worker, or \".lease\"", "w-1");
}

static void heartbeat_gives_the_queues_after_what_it_asks_for(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_heartbeat(&c, &root, &caller, 20, true, queues, N_OF(queues));
    assert_script(&c, SCRIPT_HEARTBEAT, "|a|0|b:c|2", CALLER, "hands", "5", "the place in the registry", "20",
                  "\"1\": note the names", "1");
    script_heartbeat(&c, &root, &caller, 0, false, queues, N_OF(queues));
    assert_script(&c, SCRIPT_HEARTBEAT, "|a|0|b:c|2", CALLER, "hands", "5", "the place in the registry", "0",
                  "\"1\": note the names", "");
}

static void readback_and_stop_say_who_calls(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_readback(&c, &root, &caller);
    assert_script(&c, SCRIPT_READBACK, NULL, CALLER);
    script_stop(&c, &root, &caller);
    assert_script(&c, SCRIPT_STOP, NULL, CALLER);
}

static void take_up_names_the_queues_that_are_served(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_take_up(&c, &root, &caller, queues, N_OF(queues));
    assert_script(&c, SCRIPT_TAKE_UP, "|a|b:c", CALLER);
}

static void begin_alone_names_one_process_and_what_runs_beside_it(void **state)
{
    static const char *const running[] = {"x", "b:c"};
    struct command c = COMMAND_EMPTY;
    struct script_begin_alone begin = {.queue = "q", .token = "t", .running = running, .n_running = N_OF(running)};
    (void)state;
    script_begin_alone(&c, &root, &caller, &begin);
    assert_script(&c, SCRIPT_BEGIN_ALONE, "|x|b:c", CALLER, "queue", "q", "token", "t", "\"0\": it begins", "0");
    begin.n_running = 0;
    begin.what = ALONE_ACQUIT;
    script_begin_alone(&c, &root, &caller, &begin);
    assert_script(&c, SCRIPT_BEGIN_ALONE, "", CALLER, "queue", "q", "token", "t", "\"0\": it begins", "1");
    begin.what = ALONE_WITHDRAW;
    script_begin_alone(&c, &root, &caller, &begin);
    assert_script(&c, SCRIPT_BEGIN_ALONE, "", CALLER, "queue", "q", "token", "t", "\"0\": it begins", "2");
}

static void the_checks_of_what_came_back_name_queue_home_and_suspects(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_check_returned(&c, &root, CHECK_ONLY, "b:c", 100);
    assert_script(&c, SCRIPT_CHECK_RETURNED, NULL, "\"1\": repair", "0", "queue", "b:c", "the place in the list",
                  "100");
    script_check_home(&c, &root, CHECK_AND_REPAIR, "-", "b:c");
    assert_script(&c, SCRIPT_CHECK_HOME, NULL, "\"1\": repair", "1", "the home's name", "-", "queue", "b:c");
    script_check_suspects(&c, &root, CHECK_ONLY, "b:c");
    command_text(&c, "t");
    assert_script(&c, SCRIPT_CHECK_SUSPECTS, "|t", "\"1\": repair", "0", "queue", "b:c");
}

static void sweep_names_the_dead(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_sweep(&c, &root, "w-2", SWEEP_IF_DEAD);
    assert_script(&c, SCRIPT_SWEEP, NULL, "the worker", "w-2", "\"1\": forced", "0");
    script_sweep(&c, &root, "w-2", SWEEP_FORCED);
    assert_script(&c, SCRIPT_SWEEP, NULL, "the worker", "w-2", "\"1\": forced", "1");
}

static void leave_names_one_queue(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_leave(&c, &root, &caller, "b:c");
    assert_script(&c, SCRIPT_LEAVE, NULL, CALLER, "hands", "5", "queue", "b:c");
}

static void take_says_how_many_and_for_how_long(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_take(&c, &root, &(struct script_take_lease){.queue = "b:c", .n = 3, .lease_ms = 5000000000});
    assert_script(&c, SCRIPT_TAKE, NULL, "queue", "b:c", "how many at most", "3", "length of the lease", "5000000000",
                  "\"1\": the caller waits", "0", "the call's name", "", "how long it has waited", "0",
                  "the name of who takes", "", "how many bytes a task", "0");
    script_take(&c, &root,
                &(struct script_take_lease){.queue = "q",
                                            .lease_ms = 1,
                                            .wait = SCRIPT_WAIT,
                                            .call = "me:1",
                                            .waited_ms = 9,
                                            .holder = "h",
                                            .held_back = 7});
    assert_script(&c, SCRIPT_TAKE, NULL, "queue", "q", "how many at most", "0", "length of the lease", "1",
                  "\"1\": the caller waits", "1", "the call's name", "me:1", "how long it has waited", "9",
                  "the name of who takes", "h", "how many bytes a task", "7");
}

static void untake_names_the_call(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_untake(&c, &root, "b:c", "me:1", 65536);
    assert_script(&c, SCRIPT_UNTAKE, NULL, "queue", "b:c", "the call's name", "me:1", "how many bytes it must have",
                  "65536");
}

static void fail_holder_names_the_holder_and_a_place(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_fail_holder(&c, &root, "h-1", 200);
    assert_script(&c, SCRIPT_FAIL_HOLDER, NULL, "the holder's name", "h-1", "the place among its processes", "200");
}

static void extend_tells_no_note_from_an_empty_one(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_extend(&c, &root, ".lease", "t1", "b:c", 1500, NULL, NULL);
    assert_script(&c, SCRIPT_EXTEND, "", "worker", ".lease", "token", "t1", "queue", "b:c",
                  "the lease ends this many ms from now", "1500", "\"1\": write a note", "0", "the note", "",
                  "\"1\": give the job new data", "0", "this data", "");
    script_extend(&c, &root, "w-1", "t1", "q", 0, "", &(struct muster_bytes){"", 0});
    assert_script(&c, SCRIPT_EXTEND, "", "worker", "w-1", "token", "t1", "queue", "q",
                  "the lease ends this many ms from now", "", "\"1\": write a note", "1", "the note", "",
                  "\"1\": give the job new data", "1", "this data", "");
    script_extend(&c, &root, "w-1", "t1", "q", 0, "half", &(struct muster_bytes){"new", 3});
    script_extend_more(&c, ".lease", "t2", "b:c");
    assert_script(&c, SCRIPT_EXTEND, "|.lease|t2|b:c", "worker", "w-1", "token", "t1", "queue", "q",
                  "the lease ends this many ms from now", "", "\"1\": write a note", "1", "the note", "half",
                  "\"1\": give the job new data", "1", "this data", "new");
}

static void the_keeper_of_the_timer_names_itself_and_what_keeps_it_busy(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_promote(&c, &root);
    assert_script(&c, SCRIPT_PROMOTE, NULL, NULL);
    script_hand_on(&c, &root, "w-1", "b:c");
    assert_script(&c, SCRIPT_HAND_ON, NULL, "worker", "w-1", "the queue", "b:c");
    script_tidy(&c, &root, 200);
    assert_script(&c, SCRIPT_TIDY, NULL, "the place among the queues' names to begin at", "200");
    script_note_ages(&c, &root, 200, 1700000000000);
    assert_script(&c, SCRIPT_NOTE_AGES, NULL, "the place among the queues' names to begin at", "200",
                  "when the caller began to go through all names", "1700000000000");
}

static void what_is_cut_is_said_before_the_commands(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_heads(&c, &root, 65536, SCRIPT_HEADS_ROOM);
    command_words(&c, (const char *const[]){"3", "HGET", "queue:b:c", "paused", NULL});
    assert_script(&c, SCRIPT_HEADS, "|3|HGET|queue:b:c|paused", "how many bytes a text may have", "65536",
                  "how many bytes the answer may have", "262144");
}

/* Every check begins with whether to repair. */
#define ONLY "\"1\": repair", "0"
#define REPAIR "\"1\": repair", "1"

static void a_check_of_keys_gives_each_key_with_its_type_and_time(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_check_keys(&c, &root, CHECK_ONLY);
    script_check_key(&c, (struct muster_bytes){"queues:q", 8}, "list", -1, "the jobs");
    script_check_key(&c, (struct muster_bytes){"beat", 4}, "hash", 60000, "");
    assert_script(&c, SCRIPT_CHECK_KEYS, "|queues:q|list|-1|the jobs|beat|hash|60000|", ONLY);
    script_check_token(&c, &root, CHECK_AND_REPAIR, 77);
    assert_script(&c, SCRIPT_CHECK_TOKEN, NULL, REPAIR, "the number of the highest token", "77");
}

static void a_check_of_a_worker_names_it_and_says_whether_to_count(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_check_worker(&c, &root, CHECK_ONLY, "w-1", CHECK_COUNTERS);
    assert_script(&c, SCRIPT_CHECK_WORKER, NULL, ONLY, "worker", "w-1", "\"1\": count", "1");
    script_check_worker(&c, &root, CHECK_AND_REPAIR, "w-1", SKIP_COUNTERS);
    assert_script(&c, SCRIPT_CHECK_WORKER, NULL, REPAIR, "worker", "w-1", "\"1\": count", "0");
    script_check_set(&c, &root, CHECK_ONLY, "w-1", "b:c");
    assert_script(&c, SCRIPT_CHECK_SET, NULL, ONLY, "worker", "w-1", "queue", "b:c");
    script_check_marks(&c, &root, CHECK_ONLY, "w-1", 2);
    command_text(&c, "a");
    command_text(&c, "b:c");
    command_text(&c, "t1");
    assert_script(&c, SCRIPT_CHECK_MARKS, "|a|b:c|t1", ONLY, "worker", "w-1", "how many queues", "2");
    script_check_holders(&c, &root, CHECK_AND_REPAIR, "holds", "h-1");
    command_text(&c, "t1:b:c");
    assert_script(&c, SCRIPT_CHECK_HOLDERS, "|t1:b:c", REPAIR, "which key", "holds", "its queue, or", "h-1");
}

static void a_check_of_a_queue_names_it_and_where_its_page_begins(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_check_queue(&c, &root, CHECK_ONLY, "b:c", CHECK_COUNTERS, false);
    assert_script(&c, SCRIPT_CHECK_QUEUE, NULL, ONLY, "queue", "b:c", "\"1\": count", "1",
                  "\"1\": trust the workers' records", "0");
    script_check_idle(&c, &root, CHECK_ONLY, "b:c", 300);
    assert_script(&c, SCRIPT_CHECK_IDLE, NULL, ONLY, "queue", "b:c", "the place in the idle set", "300");
    script_check_leases(&c, &root, CHECK_ONLY, "b:c", 300, true);
    assert_script(&c, SCRIPT_CHECK_LEASES, NULL, ONLY, "queue", "b:c", "the place among the leases", "300",
                  "\"1\": something was found", "1");
}

static void a_check_of_jobs_names_jobs_or_a_list_of_them(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_check_job(&c, &root, CHECK_AND_REPAIR);
    command_text(&c, "id-1");
    command_text(&c, "id-2");
    assert_script(&c, SCRIPT_CHECK_JOB, "|id-1|id-2", REPAIR);
    script_check_dependents(&c, &root, CHECK_ONLY, "id-1", "followers");
    command_text(&c, "id-2\ne");
    assert_script(&c, SCRIPT_CHECK_DEPENDENTS, "|id-2\ne", ONLY, "the id of a job", "id-1", "which list of it",
                  "followers");
    script_check_index(&c, &root, CHECK_ONLY, "waiting", "b:c", 300);
    assert_script(&c, SCRIPT_CHECK_INDEX, NULL, ONLY, "which list", "waiting", "the queue, or the tag", "b:c",
                  "the place on the list", "300");
    script_check_batch(&c, &root, CHECK_ONLY, "b-1", 300, CHECK_COUNTERS);
    assert_script(&c, SCRIPT_CHECK_BATCH, NULL, ONLY, "its id", "b-1", "the place among its members", "300",
                  "\"1\": compare its counts", "1");
}

static void put_gives_tags_what_it_waits_for_and_fields(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_put(&c, &root, "b:c");
    script_put_number(&c, "new_retries", 5);
    script_put_job(&c, &(struct script_put_job){.id = "id-1",
                                                .replace = true,
                                                .tags = (const char *const[]){"red", "blue"},
                                                .n_tags = 2,
                                                .after = (const char *const[]){"id-0"},
                                                .n_after = 1,
                                                .may_be_missing = true,
                                                .after_end = (const char *const[]){"id-3", "id-4"},
                                                .n_after_end = 2,
                                                .after_failure = (const char *const[]){"id-5"},
                                                .n_after_failure = 1});
    script_put_said(&c, "data", (struct muster_bytes){"bytes", 5});
    script_put_number(&c, "every", 1000);
    script_put_job(&c, &(struct script_put_job){.id = "id-2"});
    assert_script(
        &c, SCRIPT_PUT,
        "|new_retries|5||id-1|replace|1|tag|red|tag|blue|after|id-0|after_end|id-3|after_end|id-4|after_failure|"
        "id-5|may_be_missing|1|data|bytes|every|1000||id-2",
        "queue", "b:c");
    script_put(&c, &root, "q");
    script_put_job(&c, &(struct script_put_job){.id = ""});
    assert_script(&c, SCRIPT_PUT, "||", "queue", "q");
}

static void change_and_cancel_name_jobs(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_change(&c, &root, "id-1");
    script_change_field(&c, "tag", (struct muster_bytes){"red", 3});
    script_change_field(&c, "not_after_all", (struct muster_bytes){"", 0});
    assert_script(&c, SCRIPT_CHANGE, "|tag|red|not_after_all|", "id", "id-1");
    script_cancel_jobs(&c, &root, (const char *const[]){"id-1", "id-2"}, 2, CANCEL_AND_DEPENDENTS);
    assert_script(&c, SCRIPT_CANCEL_JOBS, "|id-1|id-2", "\"1\": and all that wait", "1");
    script_cancel_more(&c, &root, "id-1", "b:c");
    assert_script(&c, SCRIPT_CANCEL_JOBS, "|id-1|b:c", "\"1\": and all that wait", "2");
    script_open_batch(&c, &root, "b-1", NULL, 5);
    script_open_batch_field(&c, "on_end", (struct muster_bytes){"q", 1});
    assert_script(&c, SCRIPT_OPEN_BATCH, "|on_end|q", "id", "b-1", "the batch of which it is a member", "",
                  "ms after the last member", "5");
    script_open_batch(&c, &root, "b-1", "b-2", 5);
    assert_script(&c, SCRIPT_OPEN_BATCH, "", "id", "b-1", "the batch of which it is a member", "b-2",
                  "ms after the last member", "5");
    script_close_batch(&c, &root, "b-1");
    assert_script(&c, SCRIPT_CLOSE_BATCH, NULL, "id", "b-1");
    script_cancel_batch(&c, &root, "b-1", CANCEL_FIRST);
    assert_script(&c, SCRIPT_CANCEL_BATCH, NULL, "id", "b-1", "\"1\": only go on", "0");
    script_cancel_batch(&c, &root, "b-1", CANCEL_NEXT);
    assert_script(&c, SCRIPT_CANCEL_BATCH, NULL, "id", "b-1", "\"1\": only go on", "1");
    script_refill(&c, &root,
                  &(struct script_refill){.id = "r",
                                          .cron = "* * * * *",
                                          .zone = "UTC",
                                          .last = "5",
                                          .ticks = "6 7",
                                          .is_final = true,
                                          .known_ms = 8,
                                          .new_last_ms = 5,
                                          .over = 3});
    assert_script(&c, SCRIPT_REFILL, NULL, "id", "r", "cron", "* * * * *", "zone", "UTC", "last", "5", "its next ticks",
                  "6 7", "\"1\": no others come", "1", "at this time", "8", "how many missed", "3", "the last of these",
                  "5");
    script_fetch(&c, &root, "w-1", "t1", "b:c", 65536);
    assert_script(&c, SCRIPT_FETCH, NULL, "worker", "w-1", "token", "t1", "queue", "b:c", "how many bytes", "65536");
}

static void config_names_a_queue_or_none_and_a_value_or_none(void **state)
{
    struct command c = COMMAND_EMPTY;
    const int64_t value = 0;
    (void)state;
    script_config(&c, &root, "b:c", "max_running", &value);
    assert_script(&c, SCRIPT_CONFIG, NULL, "queue", "b:c", "name", "max_running", "value", "0");
    script_config(&c, &root, NULL, "keep_jobs", NULL);
    assert_script(&c, SCRIPT_CONFIG, NULL, "queue", "", "name", "keep_jobs", "value", "");
}

static void cancel_names_a_task_or_a_process(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_cancel(&c, &root, "b:c", NULL, (struct muster_bytes){"task", 4}, "0");
    assert_script(&c, SCRIPT_CANCEL, NULL, "queue", "b:c", "\"\": every copy of the task", "", "the task, or the token",
                  "task", "where to go on among the delayed tasks", "0");
    script_cancel(&c, &root, "q", "w-1", (struct muster_bytes){"t1", 2}, "17");
    assert_script(&c, SCRIPT_CANCEL, NULL, "queue", "q", "\"\": every copy of the task", "w-1",
                  "the task, or the token", "t1", "where to go on among the delayed tasks", "17");
}

static void what_is_of_a_queue_names_the_queue(void **state)
{
    static const enum script_id ids[] = {SCRIPT_DELETE, SCRIPT_PAUSE, SCRIPT_RESUME, SCRIPT_LISTEN};
    struct command c = COMMAND_EMPTY;
    (void)state;
    for (size_t i = 0; i < N_OF(ids); i++) {
        script_queue_call(&c, ids[i], &root, "b:c");
        assert_script(&c, ids[i], NULL, "queue", "b:c");
    }
}

static void replay_and_drop_say_which_failures(void **state)
{
    static const enum script_id ids[] = {SCRIPT_REPLAY, SCRIPT_DROP};
    const char *const names[] = {"e1", "e2"};
    struct command c = COMMAND_EMPTY;
    (void)state;
    for (size_t i = 0; i < N_OF(ids); i++) {
        script_failed(&c, ids[i], &root, &(struct script_failed){.queue = "b:c", .group = "g", .n = 7, .from = 200});
        assert_script(&c, ids[i], "", "queue", "b:c", "only this group", "g", "how many at most", "7",
                      "the score to begin at", "200");
        script_failed(&c, ids[i], &root,
                      &(struct script_failed){.queue = "q", .group = "", .entries = names, .n_entries = N_OF(names)});
        assert_script(&c, ids[i], "|e1|e2", "queue", "q", "only this group", "", "how many at most", "0",
                      "the score to begin at", "0");
    }
}

static void an_upgrade_names_layouts_and_keys(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    script_upgrade_begin(&c, &root);
    assert_script(&c, SCRIPT_UPGRADE_BEGIN, "|2|3|1-2|1-3|1", "the layout to be reached", "4",
                  "what P:format says while keys are moved", "1-4", "how many layouts have the same keys", "2");
    script_upgrade_keys(&c, &root);
    command_text(&c, "queues:q");
    command_text(&c, "dependents:a");
    assert_script(&c, SCRIPT_UPGRADE_KEYS, "|queues:q|dependents:a", "what P:format says during an upgrade", "1-4");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enqueue_gives_the_tasks_after_queue_and_end),
        cmocka_unit_test(tasks_go_as_the_bytes_that_they_are),
        cmocka_unit_test(start_tells_all_about_the_worker),
        cmocka_unit_test(serve_names_one_queue),
        cmocka_unit_test(share_gives_up_and_offers),
        cmocka_unit_test(turn_gives_the_queues_and_then_the_ends),
        cmocka_unit_test(the_ends_have_the_forms_that_are_read),
        cmocka_unit_test(end_says_whose_process_and_then_its_end),
        cmocka_unit_test(heartbeat_gives_the_queues_after_what_it_asks_for),
        cmocka_unit_test(readback_and_stop_say_who_calls),
        cmocka_unit_test(the_checks_of_what_came_back_name_queue_home_and_suspects),
        cmocka_unit_test(take_up_names_the_queues_that_are_served),
        cmocka_unit_test(begin_alone_names_one_process_and_what_runs_beside_it),
        cmocka_unit_test(sweep_names_the_dead),
        cmocka_unit_test(leave_names_one_queue),
        cmocka_unit_test(take_says_how_many_and_for_how_long),
        cmocka_unit_test(untake_names_the_call),
        cmocka_unit_test(fail_holder_names_the_holder_and_a_place),
        cmocka_unit_test(extend_tells_no_note_from_an_empty_one),
        cmocka_unit_test(what_is_cut_is_said_before_the_commands),
        cmocka_unit_test(the_keeper_of_the_timer_names_itself_and_what_keeps_it_busy),
        cmocka_unit_test(a_check_of_keys_gives_each_key_with_its_type_and_time),
        cmocka_unit_test(a_check_of_a_worker_names_it_and_says_whether_to_count),
        cmocka_unit_test(a_check_of_a_queue_names_it_and_where_its_page_begins),
        cmocka_unit_test(a_check_of_jobs_names_jobs_or_a_list_of_them),
        cmocka_unit_test(put_gives_tags_what_it_waits_for_and_fields),
        cmocka_unit_test(change_and_cancel_name_jobs),
        cmocka_unit_test(config_names_a_queue_or_none_and_a_value_or_none),
        cmocka_unit_test(cancel_names_a_task_or_a_process),
        cmocka_unit_test(what_is_of_a_queue_names_the_queue),
        cmocka_unit_test(replay_and_drop_say_which_failures),
        cmocka_unit_test(an_upgrade_names_layouts_and_keys),
    };
    return testing_run(tests, make_root, NULL, argc, argv);
}
