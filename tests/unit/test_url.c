/* SPDX-License-Identifier: MIT
 *
 * URLs: every form that is understood and what is read from it, and every form that is refused and why. Where they
 * lead is for the live tests.
 */
#include <string.h>

#include "redis/url.h"
#include "testing.h"

#define HOST_LONGEST 255
#define PATH_LONGEST 107
#define SECRET "s3cret"

static const struct accepted {
    const char *text, *place, *host, *path, *user, *password;
    int port, db;
} accepted[] = {
    {NULL, "127.0.0.1:6379", .host = "127.0.0.1", .port = 6379},
    {"redis://h", "h:6379", .host = "h", .port = 6379},
    {"redis://h/", "h:6379", .host = "h", .port = 6379},
    {"redis://h:1", "h:1", .host = "h", .port = 1},
    {"redis://h:65535/", "h:65535", .host = "h", .port = 65535},
    {"redis://h/0", "h:6379", .host = "h", .port = 6379, .db = 0},
    {"redis://10.0.0.1:7000/15", "10.0.0.1:7000", .host = "10.0.0.1", .port = 7000, .db = 15},
    {"redis://h/1000000", "h:6379", .host = "h", .port = 6379, .db = 1000000},
    {"redis://[::1]", "[::1]:6379", .host = "::1", .port = 6379},
    {"redis://[2001:db8::7]:7000/2", "[2001:db8::7]:7000", .host = "2001:db8::7", .port = 7000, .db = 2},
    {"redis://:" SECRET "@h", "h:6379", .host = "h", .port = 6379, .password = SECRET},
    {"redis://u:" SECRET "@[::1]:7/3", "[::1]:7", .host = "::1", .port = 7, .db = 3, .user = "u", .password = SECRET},
    {"redis://u%40r:" SECRET "%40%3A%3a%2f%3F%23%25@h:1", "h:1", .host = "h", .port = 1, .user = "u@r",
     .password = SECRET "@::/?#%"},
    {"redis://u:a:" SECRET "@x@h", "h:6379", .host = "h", .port = 6379, .user = "u", .password = "a:" SECRET "@x"},
    {"redis://:%01%7f%FF" SECRET "@h", "h:6379", .host = "h", .port = 6379, .password = "\x01\x7f\xff" SECRET},
    {"redis://u:@h", "h:6379", .host = "h", .port = 6379, .user = "u", .password = ""},
    {"unix:///run/r.sock", "/run/r.sock", .path = "/run/r.sock"},
    {"unix:///run/r.sock?db=9", "/run/r.sock", .path = "/run/r.sock", .db = 9},
    {"unix:///a%20b%3fdb=1", "/a b?db=1", .path = "/a b?db=1"},
    {"unix:///u:p@h/s", "/u:p@h/s", .path = "/u:p@h/s"},
    {"unix://:" SECRET "@/s", "/s", .path = "/s", .password = SECRET},
    {"unix://u:" SECRET "@/s?db=1", "/s", .path = "/s", .db = 1, .user = "u", .password = SECRET},
};

static const struct {
    const char *text, *why;
} refused[] = {
    {"", "must begin with redis:// or unix://"},
    {"h:6379", "must begin with"},
    {"http://h", "must begin with"},
    {"REDIS://h", "must begin with"},
    {" redis://h", "must begin with"},
    {"redis:/h", "must begin with"},
    {"rediss://h", "TLS"},
    {"redis://", "no host"},
    {"redis:///1", "no host"},
    {"redis://:6379", "no host"},
    {"redis://:pw@", "no host"},
    {"redis://[]", "no host"},
    {"redis://h:", "from 1 to 65535"},
    {"redis://h:/1", "from 1 to 65535"},
    {"redis://h:0", "from 1 to 65535"},
    {"redis://h:65536", "from 1 to 65535"},
    {"redis://h:70000", "from 1 to 65535"},
    {"redis://h:99999999999999999999", "from 1 to 65535"},
    {"redis://h:-1", "from 1 to 65535"},
    {"redis://h:+1", "from 1 to 65535"},
    {"redis://h: 1", "from 1 to 65535"},
    {"redis://h:6379x", "from 1 to 65535"},
    {"redis://[::1]:", "from 1 to 65535"},
    {"redis://h/db", "database must be a number"},
    {"redis://h/-1", "database must be a number"},
    {"redis://h/1x", "database must be a number"},
    {"redis://h/1000001", "database must be a number"},
    {"redis://h/1/2", "database must be a number"},
    {"redis://h//", "database must be a number"},
    {"redis://h/1?x=2", "database must be a number"},
    {"redis://h?db=1", "after the address"},
    {"redis://h#1", "after the address"},
    {"redis://[::1]x", "after the address"},
    {"redis://[::1]6379", "after the address"},
    {"redis://[::1", "has no ']'"},
    {"redis://fe80::1", "[brackets]"},
    {"redis://2001:db8::7:6379", "[brackets]"},
    {"redis://h%41", "no host can have"},
    {"redis://h h", "no host can have"},
    {"redis://u@h", "no password"},
    {"unix://u@/s", "no password"},
    {"redis://u%:p@h", "user has a wrong % escape"},
    {"redis://%zz:p@h", "user has a wrong % escape"},
    {"redis://:%@h", "password has a wrong % escape"},
    {"redis://:%4@h", "password has a wrong % escape"},
    {"redis://:%4g@h", "password has a wrong % escape"},
    {"redis://:%g4@h", "password has a wrong % escape"},
    {"redis://:%00@h", "password has a wrong % escape"},
    {"unix://:%00@/s", "password has a wrong % escape"},
    {"unix:///a%00b", "path has a wrong % escape"},
    {"unix:///a%2", "path has a wrong % escape"},
    {"unix://", "absolute path"},
    {"unix://s", "absolute path"},
    {"unix://run/r.sock", "absolute path"},
    {"unix://./s", "absolute path"},
    {"unix:///s?", "?db=N only"},
    {"unix:///s?x=1", "?db=N only"},
    {"unix:///s#db=1", "?db=N only"},
    {"unix:///s?db=", "database must be a number"},
    {"unix:///s?db=abc", "database must be a number"},
    {"unix:///s?db=1&x=2", "database must be a number"},
};

static const struct accepted nothing;

static void assert_same_text(const char *of, const char *found, const char *expected)
{
    if (found && expected ? strcmp(found, expected) != 0 : found != expected)
        fail_msg("%s: '%s', expected '%s'", of, found ? found : "NULL", expected ? expected : "NULL");
}

static void assert_same_url(const char *of, const struct url *found, const struct accepted *expected)
{
    assert_same_text(of, found->host, expected->host);
    assert_same_text(of, found->path, expected->path);
    assert_same_text(of, found->user, expected->user);
    assert_same_text(of, found->password, expected->password);
    if (found->port != expected->port || found->db != expected->db)
        fail_msg("%s: port %d, db %d", of, found->port, found->db);
}

static void assert_refused(const char *text, const char *expected)
{
    struct url url;
    const char *why = NULL, *public_why = muster_url_check(text);
    assert_err(url_parse(&url, text, &why), MUSTER_E_INVALID);
    if (!why || !strstr(why, expected))
        fail_msg("%s: '%s', expected '... %s ...'", text, why ? why : "accepted", expected);
    assert_same_text(text, public_why, why);
    assert_same_url(text, &url, &nothing);
}

static void what_is_accepted_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(accepted); i++) {
        const char *of = accepted[i].text ? accepted[i].text : "the default";
        struct url url;
        const char *why = "";
        assert_ok(url_parse(&url, accepted[i].text, &why));
        assert_null(why);
        assert_same_url(of, &url, &accepted[i]);
        if (accepted[i].text)
            assert_null(muster_url_check(accepted[i].text));
        url_clear(&url);
        assert_same_url(of, &url, &nothing);
    }
}

static void what_is_refused_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(refused); i++)
        assert_refused(refused[i].text, refused[i].why);
    assert_non_null(muster_url_check(NULL));
}

/* The longest text, and one that is a byte longer, after the URL's beginning. */
static void assert_longest(const char *scheme, char first, size_t longest, const char *why)
{
    char text[320];
    size_t scheme_len = strlen(scheme);
    strcpy(text, scheme);
    memset(text + scheme_len, 'x', longest + 1);
    text[scheme_len] = first;
    text[scheme_len + longest + 1] = '\0';
    assert_refused(text, why);
    text[scheme_len + longest] = '\0';
    assert_null(muster_url_check(text));
}

static void the_longest_host_and_path_are_accepted(void **state)
{
    (void)state;
    assert_longest("redis://", 'x', HOST_LONGEST, "host is too long");
    assert_longest("unix://", '/', PATH_LONGEST, "path is too long");
}

/* A path counts as it will be used: its escapes are one byte each. */
static void the_length_of_a_path_is_that_of_its_bytes(void **state)
{
    char text[sizeof("unix:///") + 3 * PATH_LONGEST] = "unix:///";
    (void)state;
    for (size_t i = 1; i < PATH_LONGEST; i++)
        strcat(text, "%78");
    assert_null(muster_url_check(text));
    strcat(text, "x");
    assert_refused(text, "path is too long");
}

static void a_place_shows_where_and_never_a_password(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(accepted); i++) {
        char place[64];
        const char *why;
        struct url url;
        assert_ok(url_parse(&url, accepted[i].text, &why));
        url_describe(&url, place, sizeof place);
        assert_string_equal(place, accepted[i].place);
        assert_null(strstr(place, SECRET));
        url_clear(&url);
    }
}

static void a_place_is_cut_to_its_room(void **state)
{
    char place[8];
    const char *why;
    struct url url;
    (void)state;
    memset(place, '#', sizeof place);
    assert_ok(url_parse(&url, "redis://a-long-name", &why));
    url_describe(&url, place, 5);
    assert_memory_equal(place, "a-lo\0###", sizeof place);
    url_clear(&url);
}

static void a_copy_outlives_what_it_was_made_from(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(accepted); i++) {
        struct url url, copy;
        const char *why;
        assert_ok(url_parse(&url, accepted[i].text, &why));
        assert_ok(url_copy(&copy, &url));
        url_clear(&url);
        assert_same_url(accepted[i].place, &copy, &accepted[i]);
        url_clear(&copy);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_accepted_is_read),
        cmocka_unit_test(what_is_refused_says_why),
        cmocka_unit_test(the_longest_host_and_path_are_accepted),
        cmocka_unit_test(the_length_of_a_path_is_that_of_its_bytes),
        cmocka_unit_test(a_place_shows_where_and_never_a_password),
        cmocka_unit_test(a_place_is_cut_to_its_room),
        cmocka_unit_test(a_copy_outlives_what_it_was_made_from),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
