/* SPDX-License-Identifier: MIT
 *
 * Where to connect next: seeds in turn, MOVED, the answer of a sentinel, and what each of them does with nonsense.
 */
#include "redis/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

struct fixture {
    struct url url;
    struct place place;
};

static void begin(struct fixture *f, const char *text)
{
    const char *why;
    assert_ok(url_parse(&f->url, text, &why));
    place_init(&f->place, &f->url);
}

static void assert_at(const struct place *p, const char *expected)
{
    char text[300];
    place_describe(p, text, sizeof text);
    assert_string_equal(text, expected);
}

static void one_server_is_tried_again_and_again(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, "redis://h:7/3");
    for (int i = 0; i < 3; i++) {
        assert_at(&f.place, "h:7");
        place_failed(&f.place);
    }
    url_clear(&f.url);
}

static void a_socket_of_a_node_is_left_for_the_owner(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, "unix:///r.sock");
    assert_false(place_moved(&f.place, "MOVED 1 :7000"));
    assert_at(&f.place, "/r.sock");
    assert_true(place_moved(&f.place, "MOVED 1 h:7000"));
    assert_at(&f.place, "h:7000");
    place_failed(&f.place);
    assert_at(&f.place, "/r.sock");
    url_clear(&f.url);
}

static void one_server_that_says_moved_is_left_and_asked_again_after_a_failure(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, "redis://h:7");
    assert_true(place_moved(&f.place, "MOVED 3999 10.0.0.7:6381"));
    assert_at(&f.place, "10.0.0.7:6381");
    assert_true(place_moved(&f.place, "MOVED 3999 2001:db8::7:6382"));
    assert_at(&f.place, "[2001:db8::7]:6382");
    assert_true(place_moved(&f.place, "MOVED 3999 :6383"));
    assert_at(&f.place, "[2001:db8::7]:6383");
    place_failed(&f.place);
    assert_at(&f.place, "h:7");
    url_clear(&f.url);
}

static void the_seeds_of_a_cluster_come_in_turn_and_then_its_other_nodes(void **state)
{
    static const char *const turns[] = {"a:1", "b:2", "c:3", "d:4", "a:1"};
    struct fixture f;
    (void)state;
    begin(&f, "redis+cluster://a:1,b:2");
    place_learn(&f.place, "b", 2);
    place_learn(&f.place, "c", 3);
    place_learn(&f.place, "c", 3);
    place_learn(&f.place, "d", 4);
    for (size_t i = 0; i < N_OF(turns); i++) {
        assert_at(&f.place, turns[i]);
        place_failed(&f.place);
    }
    url_clear(&f.url);
}

static void a_seed_is_asked_again_only_if_it_led_to_the_owner(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, "redis+cluster://a:1,b:2");
    place_failed(&f.place);
    assert_true(place_moved(&f.place, "MOVED 7 c:3"));
    place_reached(&f.place);
    place_failed(&f.place);
    assert_at(&f.place, "b:2");

    assert_true(place_moved(&f.place, "MOVED 7 d:4"));
    place_failed(&f.place);
    assert_at(&f.place, "c:3"); /* which is remembered, as it was the owner */
    place_failed(&f.place);
    assert_at(&f.place, "a:1");
    url_clear(&f.url);
}

static void redirections_in_a_circle_end(void **state)
{
    struct fixture f;
    int n = 0;
    (void)state;
    begin(&f, "redis+cluster://a:1,b:2");
    while (place_moved(&f.place, n % 2 ? "MOVED 7 a:1" : "MOVED 7 b:2") && n < 100)
        n++;
    place_failed(&f.place);
    assert_in_range(n, 3, 10);
    assert_at(&f.place, "b:2");
    url_clear(&f.url);
}

static void nonsense_instead_of_an_address_is_a_failure_of_the_seed(void **state)
{
    static const char *const nonsense[] = {
        "MOVED",        "MOVED ",           "MOVED 1",     "MOVED 1 ",      "MOVED 1 h",
        "MOVED 1 h:",   "MOVED 1 h:0",      "MOVED 1 h:x", "MOVED 1 h:70 ", "MOVED 1 h:65536",
        "MOVED 1 h:-1", "MOVED 1 h:7 h:8x", "MOVED 1 \n",  "MOVED  ",       "MOVED 1 h:99999999999999999999",
    };
    struct fixture f;
    (void)state;
    for (size_t i = 0; i < N_OF(nonsense); i++) {
        begin(&f, "redis+cluster://a:1,b:2");
        assert_false(place_moved(&f.place, nonsense[i]));
        assert_at(&f.place, "a:1");
        place_failed(&f.place);
        assert_at(&f.place, "b:2");
        url_clear(&f.url);
    }
}

/* The rule is that of a URL's hosts. */
static void a_host_that_none_can_be_is_refused_in_words(void **state)
{
    static const char *const hosts[] = {" ",   "a b", "a\nb", "\033]0;x\a", "h%1", "[h",  "h]",  "a,b",
                                        "u@h", "h/1", "h#",   "??",         "::x", "1:2", "\x7f"};
    struct fixture f;
    (void)state;
    begin(&f, "redis+cluster://a:1");
    for (size_t i = 0; i < N_OF(hosts); i++) {
        char text[64];
        snprintf(text, sizeof text, "MOVED 7 %s:2", hosts[i]);
        f.place.hops = 0;
        assert_false(place_moved(&f.place, text));
        assert_non_null(strstr(f.place.why, ", which is no host"));
        for (const char *c = f.place.why; *c; c++)
            assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
        assert_false(place_master(&f.place, hosts[i], 2));
        place_learn(&f.place, hosts[i], 2);
        assert_int_equal(f.place.n_learned, 0);
        assert_at(&f.place, "a:1");
    }
    assert_false(place_moved(&f.place, "MOVED 7 h:0"));
    assert_string_equal(f.place.why, "it names the port 0, which is none");
    url_clear(&f.url);
}

static void a_host_that_the_server_does_not_know_is_the_one_that_was_asked(void **state)
{
    static const char *const unknown[] = {"", "?"};
    (void)state;
    for (size_t i = 0; i < N_OF(unknown); i++) {
        struct fixture f;
        char text[64];
        begin(&f, "redis+cluster://a:1");
        snprintf(text, sizeof text, "MOVED 7 %s:2", unknown[i]);
        assert_true(place_moved(&f.place, text));
        assert_at(&f.place, "a:2");
        assert_true(place_master(&f.place, unknown[i], 3));
        assert_at(&f.place, "a:3");
        place_learn(&f.place, unknown[i], 4);
        place_learn(&f.place, NULL, 4);
        assert_int_equal(f.place.n_learned, 1);
        assert_string_equal(f.place.learned[0].host, "a");
        url_clear(&f.url);
    }
}

static void a_host_that_is_too_long_is_nonsense(void **state)
{
    struct fixture f;
    char text[400], host[PLACE_HOST_MAX + 2];
    (void)state;
    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    begin(&f, "redis+sentinel://a,b/m");
    snprintf(text, sizeof text, "MOVED 1 %s:7", host);
    assert_false(place_moved(&f.place, text));
    assert_false(place_master(&f.place, host, 7));
    assert_true(place_master(&f.place, host + 1, 7));
    url_clear(&f.url);
}

static void sentinels_are_asked_in_turn_for_the_master(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, "redis+sentinel://a:1,b:2/mymaster/3");
    assert_int_equal(place_target(&f.place).role, PLACE_SENTINEL);
    assert_at(&f.place, "a:1");
    assert_false(place_master(&f.place, NULL, 0));
    place_failed(&f.place);
    assert_at(&f.place, "b:2");
    assert_true(place_master(&f.place, "10.0.0.7", 6379));
    assert_int_equal(place_target(&f.place).role, PLACE_SERVER);
    assert_at(&f.place, "10.0.0.7:6379");
    place_reached(&f.place);
    place_failed(&f.place);
    assert_int_equal(place_target(&f.place).role, PLACE_SENTINEL);
    assert_at(&f.place, "b:2");
    url_clear(&f.url);
}

static void more_nodes_than_it_remembers_are_no_harm(void **state)
{
    struct fixture f;
    char host[16];
    (void)state;
    begin(&f, "redis+cluster://a:1");
    for (int i = 0; i < 3 * PLACE_LEARNED_MAX; i++) {
        snprintf(host, sizeof host, "n%d", i);
        place_learn(&f.place, host, 7);
    }
    for (int i = 0; i <= PLACE_LEARNED_MAX; i++)
        place_failed(&f.place);
    assert_at(&f.place, "a:1");
    url_clear(&f.url);
}

/* Fails until it leads there again; the number of failures. */
static int failures_until(struct place *p, const char *where)
{
    char text[300];
    for (int n = 1; n <= 2 * PLACE_LEARNED_MAX; n++) {
        place_failed(p);
        place_describe(p, text, sizeof text);
        if (strcmp(text, where) == 0)
            return n;
    }
    return -1;
}

static void a_node_that_a_cluster_has_sent_on_to_is_found_again(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, "redis+cluster://a:1");
    place_learn(&f.place, "b", 2);
    place_reached(&f.place);
    assert_true(place_moved(&f.place, "MOVED 7 c:3"));
    assert_int_equal(failures_until(&f.place, "c:3"), -1); /* it has only been named */
    assert_true(place_moved(&f.place, "MOVED 7 c:3"));
    place_reached(&f.place);
    assert_true(failures_until(&f.place, "c:3") > 0);
    assert_true(failures_until(&f.place, "b:2") > 0);
    url_clear(&f.url);
}

static void nodes_that_a_cluster_names_no_more_are_forgotten_once_the_owner_is_reached(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, "redis+cluster://a:1");
    place_learn_anew(&f.place);
    place_learn(&f.place, "b", 2);
    place_learn(&f.place, "c", 3);
    place_reached(&f.place);

    place_learn_anew(&f.place); /* by a node that does not own the slot, and may be cut off */
    place_learn(&f.place, "d", 4);
    assert_int_equal(f.place.n_learned, 3);
    assert_true(place_moved(&f.place, "MOVED 7 e:5"));
    place_learn_anew(&f.place);
    place_learn(&f.place, "c", 3);
    place_learn(&f.place, "f", 6);
    place_reached(&f.place);
    assert_int_equal(f.place.n_learned, 3);
    assert_true(failures_until(&f.place, "c:3") > 0);
    assert_true(failures_until(&f.place, "f:6") > 0);
    assert_true(failures_until(&f.place, "e:5") > 0);
    assert_int_equal(failures_until(&f.place, "b:2"), -1);
    url_clear(&f.url);
}

/* Whatever place the node at which it is has in the list by then, or if it has none. */
static void a_learned_node_that_is_reached_stays_the_target_when_the_cluster_names_its_nodes_anew(void **state)
{
    static const char *const named[][3] = {{"d", "c", "b"}, {"d", "b", "c"}, {"c", "d", "e"}, {"c", "c", "c"}};
    (void)state;
    for (size_t i = 0; i < N_OF(named); i++) {
        struct fixture f;
        begin(&f, "redis+cluster://a:1");
        place_learn(&f.place, "b", 1);
        place_learn(&f.place, "c", 1);
        place_failed(&f.place);
        assert_at(&f.place, "b:1");
        place_learn_anew(&f.place);
        for (size_t n = 0; n < N_OF(named[i]); n++) {
            place_learn(&f.place, named[i][n], 1);
            assert_at(&f.place, "b:1");
        }
        place_reached(&f.place);
        assert_at(&f.place, "b:1");
        url_clear(&f.url);
    }
}

static void the_name_of_a_certificate_is_the_seeds_when_a_cluster_names_an_address(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, "redis+cluster://a:1,b:2");
    assert_string_equal(place_target(&f.place).server_name, "a");
    assert_true(place_moved(&f.place, "MOVED 7 10.0.0.7:3"));
    assert_string_equal(place_target(&f.place).server_name, "a");
    assert_true(place_moved(&f.place, "MOVED 7 node7:3"));
    assert_string_equal(place_target(&f.place).server_name, "node7");
    url_clear(&f.url);

    begin(&f, "redis+cluster://10.0.0.1:1");
    assert_true(place_moved(&f.place, "MOVED 7 10.0.0.7:3"));
    assert_string_equal(place_target(&f.place).server_name, "10.0.0.7");
    url_clear(&f.url);

    begin(&f, "redis+sentinel://sentinel/m");
    assert_true(place_master(&f.place, "10.0.0.7", 6379));
    assert_string_equal(place_target(&f.place).server_name, "10.0.0.7");
    url_clear(&f.url);
}

static void two_places_are_the_same_by_what_they_lead_to(void **state)
{
    struct fixture f, g;
    (void)state;
    begin(&f, "redis+cluster://a:1");
    begin(&g, "redis://a:1");
    assert_true(place_is_same(&f.place, &g.place));
    assert_true(place_moved(&f.place, "MOVED 7 a:2"));
    assert_false(place_is_same(&f.place, &g.place));
    place_go_to(&g.place, &f.place.node);
    assert_true(place_is_same(&f.place, &g.place));
    url_clear(&f.url);
    url_clear(&g.url);
}

static void only_a_prefix_with_a_tag_is_let_onto_a_cluster(void **state)
{
    static const char *const tagged[] = {"{a}", "x{a}y", "{a}{}", "a}{b}"};
    static const char *const untagged[] = {"a", "", "{}", "{}{a}", "}a{", "{a"};
    (void)state;
    for (size_t i = 0; i < N_OF(tagged); i++)
        assert_null(place_refuse_prefix(tagged[i]));
    for (size_t i = 0; i < N_OF(untagged); i++)
        assert_non_null(place_refuse_prefix(untagged[i]));
    assert_non_null(strstr(place_refuse_prefix("mine"), "'{mine}'"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_server_is_tried_again_and_again),
        cmocka_unit_test(a_socket_of_a_node_is_left_for_the_owner),
        cmocka_unit_test(one_server_that_says_moved_is_left_and_asked_again_after_a_failure),
        cmocka_unit_test(the_seeds_of_a_cluster_come_in_turn_and_then_its_other_nodes),
        cmocka_unit_test(a_seed_is_asked_again_only_if_it_led_to_the_owner),
        cmocka_unit_test(redirections_in_a_circle_end),
        cmocka_unit_test(nonsense_instead_of_an_address_is_a_failure_of_the_seed),
        cmocka_unit_test(a_host_that_none_can_be_is_refused_in_words),
        cmocka_unit_test(a_host_that_the_server_does_not_know_is_the_one_that_was_asked),
        cmocka_unit_test(a_host_that_is_too_long_is_nonsense),
        cmocka_unit_test(sentinels_are_asked_in_turn_for_the_master),
        cmocka_unit_test(more_nodes_than_it_remembers_are_no_harm),
        cmocka_unit_test(a_node_that_a_cluster_has_sent_on_to_is_found_again),
        cmocka_unit_test(nodes_that_a_cluster_names_no_more_are_forgotten_once_the_owner_is_reached),
        cmocka_unit_test(a_learned_node_that_is_reached_stays_the_target_when_the_cluster_names_its_nodes_anew),
        cmocka_unit_test(the_name_of_a_certificate_is_the_seeds_when_a_cluster_names_an_address),
        cmocka_unit_test(two_places_are_the_same_by_what_they_lead_to),
        cmocka_unit_test(only_a_prefix_with_a_tag_is_let_onto_a_cluster),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
