/* SPDX-License-Identifier: MIT
 *
 * What is said on a new connection, and what is read from the answers.
 */
#include "redis/greeting.h"

#include <string.h>

#include "base/format.h"
#include "made_reply.h"

#define NEEDED "muster needs Redis 7.0 or later"
#define HELLO_OF_7 LIST(TEXT("server"), TEXT("redis"), TEXT("version"), TEXT("7.0.15"))

static const struct url plain = {.n_nodes = 1};

/* Says the next of it, which must be these words. */
static void assert_says(struct greeting *g, const char *words)
{
    struct command c = COMMAND_EMPTY;
    char said[128] = "";
    assert_true(greeting_say(g, &c));
    for (size_t i = 0; i < c.n; i++) {
        strcat(said, i > 0 ? " " : "");
        strncat(said, c.argv[i], c.lens[i]);
    }
    assert_string_equal(said, words);
    command_clear(&c);
}

static void assert_says_no_more(struct greeting *g)
{
    struct command c = COMMAND_EMPTY;
    assert_false(greeting_say(g, &c));
    assert_int_equal(c.n, 0);
}

static void it_logs_in_selects_and_looks_at_server_and_namespace(void **state)
{
    struct url url = plain;
    (void)state;
    url.user = (char[]){"u"};
    url.password = (char[]){"p"};
    url.db = 3;
    struct greeting g = {.url = &url, .prefix = "n", .format_key = "n:format"};
    assert_says(&g, "AUTH u p");
    assert_says(&g, "SELECT 3");
    assert_says(&g, "HELLO");
    assert_says(&g, "GET n:format");
    assert_says_no_more(&g);
    assert_ok(greeting_hear(&g, STATUS("OK")));
    assert_ok(greeting_hear(&g, STATUS("OK")));
    assert_ok(greeting_hear(&g, HELLO_OF_7));
    assert_false(greeting_is_over(&g));
    assert_ok(greeting_hear(&g, NIL));
    assert_true(greeting_is_over(&g));
    assert_err(greeting_hear(&g, STATUS("OK")), MUSTER_E_REDIS); /* nothing more was said */
}

static void what_is_not_needed_is_not_said(void **state)
{
    struct url url = plain;
    (void)state;
    struct greeting bare = {.url = &url};
    assert_says(&bare, "HELLO");
    assert_says_no_more(&bare);
    assert_ok(greeting_hear(&bare, HELLO_OF_7));
    assert_true(greeting_is_over(&bare));

    url.password = (char[]){"p"};
    struct greeting without_user = {.url = &url};
    assert_says(&without_user, "AUTH p");

    struct greeting handed_in = {.url = &url, .is_handed_in = true};
    assert_says(&handed_in, "HELLO");
    assert_says(&handed_in, "CLIENT INFO");
    assert_says_no_more(&handed_in);

    struct greeting again = {.url = &url, .prefix = "n", .format_key = "n:format", .said = GREETING_FORMAT};
    assert_says(&again, "GET n:format");
    assert_says_no_more(&again);
}

static void a_refusal_is_told_in_its_own_words(void **state)
{
    struct url url = plain;
    (void)state;
    url.password = (char[]){"p"};
    struct greeting g = {.url = &url};
    assert_says(&g, "AUTH p");
    assert_err(greeting_hear(&g, ERROR("WRONGPASS invalid username-password pair")), MUSTER_E_DENIED);
    assert_string_equal(g.why, "WRONGPASS invalid username-password pair");
}

static int hear_database(struct greeting *g, const redisReply *info)
{
    assert_says(g, "HELLO");
    assert_says(g, "CLIENT INFO");
    assert_ok(greeting_hear(g, HELLO_OF_7));
    return greeting_hear(g, info);
}

static void the_database_stands_in_the_answer_to_client_info(void **state)
{
    const struct {
        const redisReply *reply;
        int db;
    } cases[] = {
        {TEXT("id=3 addr=/s:0 laddr=/s:0 fd=8 name= age=0 idle=0 flags=U db=0 sub=0 psub=0 cmd=client|info"), 0},
        {TEXT("id=3 name=db=7 flags=N db=12 sub=0"), 12},
        {TEXT("id=3 db=2147483647"), 2147483647},
        {TEXT("id=3 db=2147483648 sub=0"), -1},
        {TEXT("id=3 db=-1 sub=0"), -1},
        {TEXT("id=3 db= sub=0"), -1},
        {TEXT("id=3 dbs=4"), -1},
        {TEXT(""), -1},
        {INTEGER(4), -1},
        {NIL, -1},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct greeting g = {.is_handed_in = true, .db = -1};
        assert_int_equal(hear_database(&g, cases[i].reply), cases[i].db < 0 ? MUSTER_E_REDIS : MUSTER_OK);
        assert_int_equal(g.db, cases[i].db);
    }
}

static void another_database_than_the_urls_is_refused(void **state)
{
    struct url url = plain;
    (void)state;
    url.db = 12;
    struct greeting same = {.url = &url, .is_handed_in = true}, other = {.url = &plain, .is_handed_in = true};
    assert_ok(hear_database(&same, TEXT("id=3 db=12 sub=0")));
    assert_err(hear_database(&other, TEXT("id=3 db=12 sub=0")), MUSTER_E_INVALID);
    assert_string_equal(other.why, "the connection that was handed in is in database 12, the URL's is 0");
}

static void a_version_below_7_is_refused(void **state)
{
    const struct {
        const redisReply *reply;
        const char *why;
        bool is_too_old;
    } cases[] = {
        {HELLO_OF_7, "", false},
        {LIST(TEXT("version"), TEXT("10.1")), "", false},
        {LIST(TEXT("version"), TEXT("6.2.7")), "the server is of version 6.2.7: " NEEDED, true},
        {ERROR("ERR unknown command 'HELLO'"), "the server does not know HELLO: " NEEDED, true},
        {ERROR("LOADING Redis is loading"), "LOADING Redis is loading", false},
        {LIST(TEXT("version"), TEXT("seven")), "this is not a Redis", false},
        {LIST(TEXT("version"), NIL), "this is not a Redis", false},
        {LIST(TEXT("version")), "this is not a Redis", false},
        {STATUS("PONG"), "this is not a Redis", false},
        {NIL, "this is not a Redis", false},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct greeting g = {.url = &plain};
        assert_says(&g, "HELLO");
        assert_int_equal(greeting_hear(&g, cases[i].reply) == MUSTER_OK, *cases[i].why == '\0');
        assert_string_equal(g.why, cases[i].why);
        assert_int_equal(g.is_too_old, cases[i].is_too_old);
    }
}

static int hear_format(struct greeting *g, const redisReply *reply)
{
    *g = (struct greeting){.url = &plain, .prefix = "n", .format_key = "n:format", .said = GREETING_FORMAT};
    assert_says(g, "GET n:format");
    return greeting_hear(g, reply);
}

static void a_namespace_of_another_format_is_refused(void **state)
{
    struct greeting g;
    (void)state;
    assert_ok(hear_format(&g, TEXT(FORMAT_VERSION)));
    assert_true(g.is_format_known);
    assert_ok(hear_format(&g, NIL));
    assert_false(g.is_format_known);
    assert_err(hear_format(&g, TEXT("0")), MUSTER_E_FORMAT);
    assert_true(g.is_not_the_place);
    assert_non_null(strstr(g.why, "the namespace 'n' is written in format 0"));
    assert_err(hear_format(&g, ERROR("WRONGTYPE Operation against")), MUSTER_E_REDIS);
    assert_non_null(strstr(g.why, "'n:format' has a wrong type"));
    assert_err(hear_format(&g, INTEGER(1)), MUSTER_E_REDIS);
    assert_false(g.is_not_the_place);
}

/* ---- where the namespace is ---- */

#define HELLO_AS(mode, role) LIST(TEXT("version"), TEXT("7.0.15"), TEXT("mode"), TEXT(mode), TEXT("role"), TEXT(role))

struct at {
    struct url url;
    struct place place;
    struct greeting greeting;
};

static void begin_at(struct at *at, const char *url)
{
    const char *why;
    assert_ok(url_parse(&at->url, url, &why));
    place_init(&at->place, &at->url);
    at->greeting = (struct greeting){.url = &at->url, .place = &at->place, .prefix = "{n}", .root_key = "{n}:"};
}

static void assert_place(const struct at *at, const char *expected)
{
    char text[300];
    place_describe(&at->place, text, sizeof text);
    assert_string_equal(text, expected);
}

static void a_node_of_a_cluster_is_asked_for_the_others_each_time(void **state)
{
    struct at at;
    (void)state;
    begin_at(&at, "redis+cluster://a:1");
    assert_says(&at.greeting, "HELLO");
    assert_says(&at.greeting, "CLUSTER SLOTS");
    assert_says(&at.greeting, "EXISTS {n}:");
    assert_says_no_more(&at.greeting);
    assert_ok(greeting_hear(&at.greeting, HELLO_AS("cluster", "master")));
    redisReply *b = LIST(TEXT("b"), INTEGER(2), TEXT("id")), *nobody = LIST(NIL, INTEGER(3));
    redisReply *c = LIST(TEXT("c"), INTEGER(70000)), *d = LIST(TEXT("d"), INTEGER(4));
    redisReply *first = LIST(INTEGER(0), INTEGER(99), b, nobody), *second = LIST(INTEGER(100), INTEGER(101), c, d);
    const redisReply *slots = LIST(first, second, NIL);
    assert_ok(greeting_hear(&at.greeting, slots));
    assert_ok(greeting_hear(&at.greeting, INTEGER(0)));
    assert_true(greeting_is_over(&at.greeting));
    assert_int_equal(at.place.n_learned, 3); /* nobody is the one that was asked */

    place_reached(&at.place);
    at.greeting = (struct greeting){.url = &at.url, .place = &at.place, .prefix = "{n}", .root_key = "{n}:"};
    assert_says(&at.greeting, "HELLO");
    assert_says(&at.greeting, "CLUSTER SLOTS");
    assert_says(&at.greeting, "EXISTS {n}:");
    assert_ok(greeting_hear(&at.greeting, HELLO_AS("cluster", "master")));
    redisReply *e = LIST(TEXT("e"), INTEGER(5)), *range = LIST(INTEGER(0), INTEGER(99), e);
    assert_ok(greeting_hear(&at.greeting, LIST(range)));
    assert_ok(greeting_hear(&at.greeting, INTEGER(0)));
    place_reached(&at.place);
    assert_int_equal(at.place.n_learned, 1);
    assert_string_equal(at.place.learned[0].host, "e");
    url_clear(&at.url);
}

/* `n_learned`: it has reached a cluster before. */
static int hear_nodes_of_no_cluster(const char *url, int n_learned, const redisReply *slots)
{
    struct at at;
    begin_at(&at, url);
    for (int i = 0; i < n_learned; i++)
        place_learn(&at.place, "n", 1 + i);
    assert_says(&at.greeting, "HELLO");
    assert_says(&at.greeting, "CLUSTER SLOTS");
    assert_ok(greeting_hear(&at.greeting, HELLO_AS("standalone", "master")));
    int err = greeting_hear(&at.greeting, slots);
    if (err != MUSTER_OK)
        assert_non_null(strstr(at.greeting.why, "redis://"));
    url_clear(&at.url);
    return err;
}

/* What speaks for a cluster without saying that it is one, as a proxy may, will do. */
static void a_url_of_a_cluster_does_not_lead_to_one_server(void **state)
{
    const redisReply *refusal = ERROR("ERR This instance has cluster support disabled");
    (void)state;
    assert_err(hear_nodes_of_no_cluster("redis+cluster://a:1", 0, refusal), MUSTER_E_INVALID);
    assert_err(hear_nodes_of_no_cluster("redis+cluster://a:1", 3, refusal), MUSTER_E_CONN);
    assert_err(hear_nodes_of_no_cluster("redis+cluster://a:1,b:2", 0, refusal), MUSTER_E_CONN);
    assert_ok(hear_nodes_of_no_cluster("redis+cluster://a:1", 0, EMPTY_LIST));
}

static int hear_root(struct at *at, const char *url, const redisReply *reply)
{
    begin_at(at, url);
    assert_says(&at->greeting, "HELLO");
    assert_says(&at->greeting, "EXISTS {n}:");
    assert_ok(greeting_hear(&at->greeting, HELLO_AS("cluster", "master")));
    return greeting_hear(&at->greeting, reply);
}

static void the_root_tells_whose_slot_it_is(void **state)
{
    static const struct {
        const char *answer, *place;
        int err;
        bool is_sent_on;
        const char *why;
    } cases[] = {
        {"MOVED 7 b:2", "b:2", MUSTER_E_BUSY, true, NULL},
        {"MOVED 7 nonsense", "a:1", MUSTER_E_BUSY, false, "MOVED 7 nonsense: it names no host and port"},
        {"MOVED 7 b/c:2", "a:1", MUSTER_E_BUSY, false, "MOVED 7 b/c:2: it names 'b/c', which is no host"},
        {"MOVED 7 ?:2", "a:2", MUSTER_E_BUSY, true, NULL},
        {"ASK 7 b:2", "a:1", MUSTER_OK, false, NULL},
        {"CLUSTERDOWN Hash slot not served", "a:1", MUSTER_E_BUSY, false, NULL},
        {"NOPERM this user may not", "a:1", MUSTER_OK, false, NULL},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct at at;
        const redisReply reply = {
            .type = REDIS_REPLY_ERROR, .str = (char *)cases[i].answer, .len = strlen(cases[i].answer)};
        assert_err(hear_root(&at, "redis://a:1", &reply), cases[i].err);
        assert_int_equal(at.greeting.is_sent_on, cases[i].is_sent_on);
        assert_place(&at, cases[i].place);
        if (cases[i].err)
            assert_string_equal(at.greeting.why, cases[i].why ? cases[i].why : cases[i].answer);
        url_clear(&at.url);
    }
}

static void a_prefix_without_a_tag_is_refused_at_a_cluster_alone(void **state)
{
    struct at at;
    (void)state;
    begin_at(&at, "redis://a:1");
    at.greeting.prefix = "n";
    assert_says(&at.greeting, "HELLO");
    assert_err(greeting_hear(&at.greeting, HELLO_AS("cluster", "master")), MUSTER_E_INVALID);
    assert_non_null(strstr(at.greeting.why, "'{n}'"));

    at.greeting = (struct greeting){.url = &at.url, .place = &at.place, .prefix = "n"};
    assert_says(&at.greeting, "HELLO");
    assert_ok(greeting_hear(&at.greeting, HELLO_AS("standalone", "replica")));
    url_clear(&at.url);
}

static void begin_at_sentinel(struct at *at)
{
    begin_at(at, "redis+sentinel://u:p@s:1,t:2/m/3?sentinel_password=sp");
    assert_says(&at->greeting, "AUTH sp");
    assert_says(&at->greeting, "HELLO");
    assert_says(&at->greeting, "SENTINEL GET-MASTER-ADDR-BY-NAME m");
    assert_says_no_more(&at->greeting);
    assert_ok(greeting_hear(&at->greeting, STATUS("OK")));
    assert_ok(greeting_hear(&at->greeting, HELLO_AS("sentinel", "master")));
}

static void a_sentinel_names_the_master_which_must_be_one(void **state)
{
    struct at at;
    (void)state;
    begin_at_sentinel(&at);
    assert_err(greeting_hear(&at.greeting, LIST(TEXT("10.0.0.7"), TEXT("6380"))), MUSTER_E_CONN);
    assert_true(at.greeting.is_sent_on);
    assert_place(&at, "10.0.0.7:6380");

    at.greeting = (struct greeting){.url = &at.url, .place = &at.place, .prefix = "{n}", .root_key = "{n}:"};
    assert_says(&at.greeting, "AUTH u p");
    assert_says(&at.greeting, "SELECT 3");
    assert_says(&at.greeting, "HELLO");
    assert_ok(greeting_hear(&at.greeting, STATUS("OK")));
    assert_ok(greeting_hear(&at.greeting, STATUS("OK")));
    assert_err(greeting_hear(&at.greeting, HELLO_AS("standalone", "replica")), MUSTER_E_BUSY);
    url_clear(&at.url);
}

static void a_sentinel_that_does_not_know_the_master_says_so(void **state)
{
    const struct {
        const redisReply *reply;
        const char *why;
        int err;
    } cases[] = {
        {NIL, "this Sentinel does not know a master 'm'", MUSTER_E_CONN},
        {ERROR("IDONTKNOW"), "IDONTKNOW", MUSTER_E_CONN},
        {ERROR("NOPERM no"), "NOPERM no", MUSTER_E_DENIED},
        {LIST(TEXT("h")), "the Sentinel's answer: it names the port 0, which is none", MUSTER_E_CONN},
        {LIST(TEXT("h"), TEXT("0")), "the Sentinel's answer: it names the port 0, which is none", MUSTER_E_CONN},
        {LIST(TEXT("\033[2J"), TEXT("1")), "the Sentinel's answer: it names '?[2J', which is no host", MUSTER_E_CONN},
        {LIST(INTEGER(1), TEXT("1")), "this is not a Redis", MUSTER_E_CONN},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct at at;
        begin_at_sentinel(&at);
        assert_err(greeting_hear(&at.greeting, cases[i].reply), cases[i].err);
        assert_false(at.greeting.is_sent_on);
        assert_string_equal(at.greeting.why, cases[i].why);
        url_clear(&at.url);
    }
}

static void a_sentinel_and_a_redis_are_not_taken_for_each_other(void **state)
{
    struct at at;
    (void)state;
    /* One of several may be wrong: then the next one is asked. */
    begin_at(&at, "redis+sentinel://s/m");
    assert_says(&at.greeting, "HELLO");
    assert_err(greeting_hear(&at.greeting, HELLO_AS("standalone", "master")), MUSTER_E_CONN);
    url_clear(&at.url);
    begin_at(&at, "redis://s");
    assert_says(&at.greeting, "HELLO");
    assert_err(greeting_hear(&at.greeting, HELLO_AS("sentinel", "master")), MUSTER_E_INVALID);
    assert_non_null(strstr(at.greeting.why, "redis+sentinel://"));
    url_clear(&at.url);
}

static void a_replica_will_not_do_for_a_worker(void **state)
{
    static const struct {
        bool needs_master, is_handed_in;
        const char *mode, *role;
        int err;
    } cases[] = {
        {true, false, "standalone", "replica", MUSTER_E_BUSY}, {true, true, "standalone", "replica", MUSTER_E_BUSY},
        {false, false, "standalone", "replica", MUSTER_OK},    {true, false, "cluster", "replica", MUSTER_OK},
        {true, false, "standalone", "master", MUSTER_OK},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct at at;
        begin_at(&at, "redis://a:1");
        at.greeting.needs_master = cases[i].needs_master;
        at.greeting.is_handed_in = cases[i].is_handed_in;
        assert_says(&at.greeting, "HELLO");
        const redisReply mode = {
            .type = REDIS_REPLY_STRING, .str = (char *)cases[i].mode, .len = strlen(cases[i].mode)};
        redisReply role = {.type = REDIS_REPLY_STRING, .str = (char *)cases[i].role, .len = strlen(cases[i].role)};
        redisReply copy = mode;
        const redisReply *hello = LIST(TEXT("version"), TEXT("7.0.15"), TEXT("mode"), &copy, TEXT("role"), &role);
        assert_err(greeting_hear(&at.greeting, hello), cases[i].err);
        if (cases[i].err)
            assert_string_equal(at.greeting.why, PLACE_REPLICA);
        url_clear(&at.url);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_logs_in_selects_and_looks_at_server_and_namespace),
        cmocka_unit_test(what_is_not_needed_is_not_said),
        cmocka_unit_test(a_refusal_is_told_in_its_own_words),
        cmocka_unit_test(a_version_below_7_is_refused),
        cmocka_unit_test(the_database_stands_in_the_answer_to_client_info),
        cmocka_unit_test(another_database_than_the_urls_is_refused),
        cmocka_unit_test(a_namespace_of_another_format_is_refused),
        cmocka_unit_test(a_node_of_a_cluster_is_asked_for_the_others_each_time),
        cmocka_unit_test(a_url_of_a_cluster_does_not_lead_to_one_server),
        cmocka_unit_test(the_root_tells_whose_slot_it_is),
        cmocka_unit_test(a_prefix_without_a_tag_is_refused_at_a_cluster_alone),
        cmocka_unit_test(a_sentinel_names_the_master_which_must_be_one),
        cmocka_unit_test(a_sentinel_that_does_not_know_the_master_says_so),
        cmocka_unit_test(a_sentinel_and_a_redis_are_not_taken_for_each_other),
        cmocka_unit_test(a_replica_will_not_do_for_a_worker),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
