/* SPDX-License-Identifier: MIT
 *
 * URLs: every form that is understood and what is read from it, and every form that is refused and why. Where they
 * lead is for the live tests.
 */
#include <string.h>

#include "redis/tls.h"
#include "redis/url.h"
#include "redis/url_make.h"
#include "redis/url_parse.h"
#include "testing.h"

#define HOST_LONGEST 255
#define PATH_LONGEST 107
#define SECRET "s3cret"

static const struct accepted {
    const char *text, *place, *host, *path, *user, *password;
    int port, db;
    enum url_kind kind;
    const char *host2;
    int port2;
    const char *master, *sentinel_user, *sentinel_password, *password_file, *sentinel_password_file;
    struct {
        bool is_on, is_insecure;
        const char *ca, *cert, *key, *server_name;
    } tls;
    int replicas, replicas_ms;
    bool fsync;
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
    {"unix:///s?fsync=1&db=2&replicas=1", "/s", .path = "/s", .db = 2, .fsync = true, .replicas = 1},
    {"redis://h?replicas=2", "h:6379", .host = "h", .port = 6379, .replicas = 2},
    {"redis://h?replicas=1%2C500&fsync=%31", "h:6379", .host = "h", .port = 6379, .fsync = true, .replicas = 1,
     .replicas_ms = 500},
    {"redis://h/?replicas=100,3600000", "h:6379", .host = "h", .port = 6379, .replicas = 100, .replicas_ms = 3600000},
    {"redis://:" SECRET "@h:1/3?fsync=1&replicas=1,1", "h:1", .host = "h", .port = 1, .db = 3, .password = SECRET,
     .fsync = true, .replicas = 1, .replicas_ms = 1},
    {"rediss://h", "h:6379", .host = "h", .port = 6379, .tls.is_on = true},
    {"rediss://u:" SECRET "@h:1/2?tls_ca=/etc/ca%20a.pem&tls_cert=c&tls_key=k&tls_server_name=redis.example.org", "h:1",
     .host = "h", .port = 1, .db = 2, .user = "u", .password = SECRET, .tls.is_on = true, .tls.ca = "/etc/ca a.pem",
     .tls.cert = "c", .tls.key = "k", .tls.server_name = "redis.example.org"},
    {"rediss://h?tls_insecure=1", "h:6379", .host = "h", .port = 6379, .tls.is_on = true, .tls.is_insecure = true},
    {"redis+cluster://h", "h:6379 (cluster)", .kind = URL_CLUSTER, .host = "h", .port = 6379},
    {"redis+cluster://h1:7000,h2", "h1:7000,h2:6379 (cluster)", .kind = URL_CLUSTER, .host = "h1", .port = 7000,
     .host2 = "h2", .port2 = 6379},
    {"redis+cluster://u:" SECRET "%2C@[::1],[2001:db8::7]:7000/0?replicas=1", "[::1]:6379,[2001:db8::7]:7000 (cluster)",
     .kind = URL_CLUSTER, .host = "::1", .port = 6379, .host2 = "2001:db8::7", .port2 = 7000, .user = "u",
     .password = SECRET ",", .replicas = 1},
    {"rediss+cluster://h1,h2/?tls_server_name=h", "h1:6379,h2:6379 (cluster)", .kind = URL_CLUSTER, .host = "h1",
     .port = 6379, .host2 = "h2", .port2 = 6379, .tls.is_on = true, .tls.server_name = "h"},
    {"redis+sentinel://h/m", "m by h:26379", .kind = URL_SENTINEL, .host = "h", .port = 26379, .master = "m"},
    {"redis+sentinel://h/m/", "m by h:26379", .kind = URL_SENTINEL, .host = "h", .port = 26379, .master = "m"},
    {"redis+sentinel://:" SECRET "@h1:1,h2/my%2Fm/4?sentinel_user=s&sentinel_password=" SECRET "%26",
     "my/m by h1:1,h2:26379", .kind = URL_SENTINEL, .host = "h1", .port = 1, .host2 = "h2", .port2 = 26379, .db = 4,
     .master = "my/m", .password = SECRET, .sentinel_user = "s", .sentinel_password = SECRET "&"},
    {"redis+sentinel://u@h/m?password_file=/a%20b&sentinel_user=s&sentinel_password_file=c", "m by h:26379",
     .kind = URL_SENTINEL, .host = "h", .port = 26379, .master = "m", .user = "u", .password_file = "/a b",
     .sentinel_user = "s", .sentinel_password_file = "c"},
    {"rediss+sentinel://h/m?tls_ca=ca", "m by h:26379", .kind = URL_SENTINEL, .host = "h", .port = 26379, .master = "m",
     .tls.is_on = true, .tls.ca = "ca"},
    {"redis-sentinel://h?sentinelMasterId=m", "m by h:26379", .kind = URL_SENTINEL, .host = "h", .port = 26379,
     .master = "m"},
    {"redis-sentinel://" SECRET "@h1,h2:1/5?sentinel_password=x&sentinelMasterId=m%21", "m! by h1:26379,h2:1",
     .kind = URL_SENTINEL, .host = "h1", .port = 26379, .host2 = "h2", .port2 = 1, .db = 5, .master = "m!",
     .password = SECRET, .sentinel_password = "x"},
    {"rediss-sentinel://u:" SECRET "@h/?sentinelMasterId=m", "m by h:26379", .kind = URL_SENTINEL, .host = "h",
     .port = 26379, .master = "m", .user = "u", .password = SECRET, .tls.is_on = true},
};

static const struct {
    const char *text, *why;
} refused[] = {
    {"", "must begin with redis://, "},
    {"h:6379", "must begin with"},
    {"http://h", "must begin with"},
    {"REDIS://h", "must begin with"},
    {" redis://h", "must begin with"},
    {"redis:/h", "must begin with"},
    {"redis+tls://h", "must begin with"},
    {"redis+cluster:/h", "must begin with"},
    {"unix+cluster:///s", "must begin with"},
    {"rediss-cluster://h", "must begin with"},
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
    {"redis://h/1?x=2", "parameter that is not known"},
    {"redis://h?db=1", "db is for unix:// only"},
    {"redis://h#1", "write it as %23"},
    {"redis://h/1#1", "write it as %23"},
    {"redis://h?fsync=1#1", "write it as %23"},
    {"redis://[::1]x", "after the address"},
    {"redis://[::1]6379", "after the address"},
    {"redis://[::1", "has no ']'"},
    {"redis://fe80::1", "[brackets]"},
    {"redis://2001:db8::7:6379", "[brackets]"},
    {"redis://h%41", "no host can have"},
    {"redis://h h", "no host can have"},
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
    {"unix:///s#db=1", "write it as %23"},
    {"unix:///s?db=", "db has no value"},
    {"unix:///s?db=abc", "database must be a number"},
    {"unix:///s?db=1&x=2", "parameter that is not known"},
    {"unix:///s?db=1&db=1", "has db twice"},
    {"unix:///a,b?tls_ca=x", "tls_ca needs TLS"},

    {"redis://a,b", "may have several hosts"},
    {"rediss://a,b", "may have several hosts"},
    {"redis+cluster://", "no host"},
    {"redis+cluster:///1", "no host"},
    {"redis+cluster://a,", "no host"},
    {"redis+cluster://,a", "no host"},
    {"redis+cluster://a,,b", "no host"},
    {"redis+cluster://a:1,b:", "from 1 to 65535"},
    {"redis+cluster://a, b", "no host can have"},
    {"redis+cluster://a,::1", "[brackets]"},
    {"redis+cluster://[::1,b", "has no ']'"},
    {"redis+cluster://a,u:p@b", "login stands once"},
    {"redis+cluster://u:p@a:1,u:p@b:1", "login stands once"},
    {"redis+sentinel://u:p,@a/m", "login stands once"},
    {"redis-sentinel://p@a,p@b?sentinelMasterId=m", "login stands once"},
    {"redis+cluster://a,b/1", "no database but 0"},
    {"redis+cluster://a,b/m/0", "database must be a number"},
    {"redis+sentinel://h", "needs the master's name"},
    {"redis+sentinel://h/", "needs the master's name"},
    {"redis+sentinel://h//1", "needs the master's name"},
    {"redis+sentinel://h/m/x", "database must be a number"},
    {"redis+sentinel://h/m/1/", "database must be a number"},
    {"redis+sentinel://h/m%", "master has a wrong % escape"},
    {"redis+sentinel://h/m%0a", "no name can have"},
    {"redis+sentinel://h/m m", "no name can have"},
    {"redis+sentinel://h/m?sentinelMasterId=m", "sentinelMasterId is for redis-sentinel:// only"},
    {"redis-sentinel://h", "?sentinelMasterId=name"},
    {"redis-sentinel://h/1", "?sentinelMasterId=name"},
    {"redis-sentinel://h?sentinelMasterId=", "sentinelMasterId has no value"},
    {"redis-sentinel://h/m?sentinelMasterId=m", "database must be a number"},
    {"redis-sentinel://h?sentinelMasterId=a&sentinelMasterId=a", "sentinelMasterId twice"},
    {"redis-sentinel://@h?sentinelMasterId=m", "no user before it"},

    {"redis://h?", "parameter that is not known"},
    {"redis://h?fsync=1&", "parameter that is not known"},
    {"redis://h?&fsync=1", "parameter that is not known"},
    {"redis://h?Fsync=1", "parameter that is not known"},
    {"redis://h?fsyn=1", "parameter that is not known"},
    {"redis://h?fsyncs=1", "parameter that is not known"},
    {"redis://h?%66sync=1", "parameter that is not known"},
    {"redis://h?fsync", "fsync has no value"},
    {"redis://h?fsync=", "fsync has no value"},
    {"redis://h?fsync=0", "fsync must be 1"},
    {"redis://h?fsync=11", "fsync must be 1"},
    {"redis://h?fsync=yes", "fsync must be 1"},
    {"redis://h?fsync=1&fsync=1", "fsync twice"},
    {"redis://h?replicas=", "replicas has no value"},
    {"redis://h?replicas=0", "must be N or N,MS"},
    {"redis://h?replicas=101", "must be N or N,MS"},
    {"redis://h?replicas=1,", "must be N or N,MS"},
    {"redis://h?replicas=1,0", "must be N or N,MS"},
    {"redis://h?replicas=1,3600001", "must be N or N,MS"},
    {"redis://h?replicas=,1", "must be N or N,MS"},
    {"redis://h?replicas=1,1,1", "must be N or N,MS"},
    {"redis://h?replicas=-1", "must be N or N,MS"},
    {"redis://h?replicas=1%2C", "must be N or N,MS"},
    {"redis://h?replicas=1%2", "the URL's replicas has a wrong % escape"},
    {"redis://h?tls_ca=x", "tls_ca needs TLS"},
    {"redis+cluster://h?tls_insecure=1", "tls_insecure needs TLS"},
    {"redis://h?tls_cert=x", "tls_cert needs TLS"},
    {"redis://h?tls_key=x", "tls_key needs TLS"},
    {"redis://h?tls_server_name=x", "tls_server_name needs TLS"},
    {"rediss://h?tls_ca=%zz", "tls_ca has a wrong % escape"},
    {"rediss://h?tls_ca=", "tls_ca has no value"},
    {"rediss://h?tls_insecure=0", "tls_insecure must be 1"},
    {"redis://h?sentinel_password=x", "sentinel_password is for Sentinel only"},
    {"redis://h?sentinel_password_file=x", "sentinel_password_file is for Sentinel only"},
    {"redis://h?password_file=", "password_file has no value"},
    {"redis+cluster://h?sentinel_user=x", "sentinel_user is for Sentinel only"},
    {"redis+sentinel://h/m?sentinel_password=%00", "sentinel_password has a wrong % escape"},
    {"redis+sentinel://h/m?sentinel_password=a&sentinel_password=b", "sentinel_password twice"},
    {"rediss://h?tls_insecure=1&tls_ca=x", "tls_ca has no effect"},
    {"redis://:p@h?password_file=x", "a password in the URL already"},
    {"redis+sentinel://h/m?sentinel_password=p&sentinel_password_file=x", "a sentinel_password already"},
    {"unix://:@/s?password_file=x", "a password in the URL already"},
};

/* What an option may add. */
static const struct {
    const char *text, *why;
} incomplete[] = {
    {"redis://u@h", "no password"},
    {"unix://u@/s", "no password"},
    {"redis+cluster://u@a", "no password"},
    {"redis+sentinel://p@h/m", "no password"},
    {"rediss://h?tls_cert=x", "no tls_key"},
    {"rediss://h?tls_key=x", "no tls_cert"},
    {"redis+sentinel://h/m?sentinel_user=x", "no sentinel_password"},
};

static const struct accepted nothing;

static void assert_same_text(const char *of, const char *found, const char *expected)
{
    if (found && expected ? strcmp(found, expected) != 0 : found != expected)
        fail_msg("%s: '%s', expected '%s'", of, found ? found : "NULL", expected ? expected : "NULL");
}

static void assert_same_node(const char *of, const struct url *found, int i, const char *host, int port)
{
    assert_same_text(of, found->n_nodes > i ? found->nodes[i].host : NULL, host);
    if (host && found->nodes[i].port != port)
        fail_msg("%s: port %d of %s", of, found->nodes[i].port, host);
}

static void assert_same_tls(const char *of, const struct url_tls *found, const struct accepted *expected)
{
    assert_same_text(of, found->ca, expected->tls.ca);
    assert_same_text(of, found->cert, expected->tls.cert);
    assert_same_text(of, found->key, expected->tls.key);
    assert_same_text(of, found->server_name, expected->tls.server_name);
    if (found->is_on != expected->tls.is_on || found->is_insecure != expected->tls.is_insecure)
        fail_msg("%s: TLS %d, insecure %d", of, found->is_on, found->is_insecure);
}

static void assert_same_url(const char *of, const struct url *found, const struct accepted *expected)
{
    assert_same_node(of, found, 0, expected->host, expected->port);
    assert_same_node(of, found, 1, expected->host2, expected->port2);
    assert_same_text(of, found->path, expected->path);
    assert_same_text(of, found->user, expected->user);
    assert_same_text(of, found->password, expected->password);
    assert_same_text(of, found->master, expected->master);
    assert_same_text(of, found->sentinel_user, expected->sentinel_user);
    assert_same_text(of, found->sentinel_password, expected->sentinel_password);
    assert_same_text(of, found->password_file, expected->password_file);
    assert_same_text(of, found->sentinel_password_file, expected->sentinel_password_file);
    assert_same_tls(of, &found->tls, expected);
    if (found->kind != expected->kind || found->db != expected->db || found->fsync != expected->fsync)
        fail_msg("%s: kind %d, db %d, fsync %d", of, found->kind, found->db, found->fsync);
    if (found->replicas != expected->replicas || found->replicas_ms != expected->replicas_ms)
        fail_msg("%s: replicas %d,%d", of, found->replicas, found->replicas_ms);
}

/* Also what a build without TLS does not let through. */
static void read_url(struct url *url, const struct accepted *of)
{
    const char *text = of->text ? of->text : URL_DEFAULT, *why;
    *url = (struct url){0};
    if ((why = url_parse_text(url, text)))
        fail_msg("%s: %s", text, why);
}

static void assert_refused(const char *text, const char *expected)
{
    struct url url;
    const char *why = NULL, *public_why = muster_url_check(text);
    int err = url_parse(&url, text, &why);
    if (err != MUSTER_E_INVALID || !why || !strstr(why, expected))
        fail_msg("%s: '%s', expected '... %s ...'", text, why ? why : "accepted", expected);
    assert_same_text(text, public_why, why);
    assert_same_url(text, &url, &nothing);
}

static void what_is_accepted_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(accepted); i++) {
        struct url url;
        read_url(&url, &accepted[i]);
        assert_same_url(accepted[i].place, &url, &accepted[i]);
        url_clear(&url);
        assert_same_url(accepted[i].place, &url, &nothing);
    }
}

static void what_is_accepted_may_be_used_where_there_is_tls_for_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(accepted); i++) {
        const char *why = "";
        struct url url;
        if (accepted[i].tls.is_on && tls_missing()) {
            assert_refused(accepted[i].text, "this build of muster does not have");
            continue;
        }
        assert_ok(url_parse(&url, accepted[i].text, &why));
        assert_null(why);
        assert_same_url(accepted[i].place, &url, &accepted[i]);
        if (accepted[i].text)
            assert_null(muster_url_check(accepted[i].text));
        url_clear(&url);
    }
}

static void what_is_refused_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(refused); i++)
        assert_refused(refused[i].text, refused[i].why);
    assert_non_null(muster_url_check(NULL));
}

static void what_an_option_may_complete_is_refused_only_without_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(incomplete); i++) {
        struct url url = {0};
        const char *text = incomplete[i].text, *why = url_parse_text(&url, text);
        bool needs_tls = url.tls.is_on && tls_missing();
        assert_null(why);
        url_clear(&url);
        assert_same_text(text, muster_url_check(text), needs_tls ? tls_missing() : NULL);
        assert_err(url_parse(&url, text, &why), MUSTER_E_INVALID);
        if (!strstr(why, needs_tls ? "needs TLS" : incomplete[i].why))
            fail_msg("%s: '%s'", text, why);
    }
}

/* ---- options beside the URL ---- */

/* The options and the URL that would say the same; with `why`, they are refused. */
static const struct beside {
    struct url_options o;
    const char *same, *why;
} beside[] = {
    {{.url = "redis://h", .user = "u", .password = SECRET}, .same = "redis://u:" SECRET "@h"},
    {{.url = "redis://u@h", .password = "a%b"}, .same = "redis://u:a%25b@h"},
    {{.url = "redis://h", .password = ""}, .same = "redis://:@h"},
    {{.url = "redis://h?replicas=3,5", .replicas = 2}, .same = "redis://h?replicas=2"},
    {{.url = "redis://h?replicas=3,5", .replicas_ms = 7}, .same = "redis://h?replicas=3,7"},
    {{.url = "unix:///s", .replicas = 100, .replicas_ms = 3600000, .fsync = 1},
     .same = "unix:///s?replicas=100,3600000&fsync=1"},
    {{.url = "redis+sentinel://h/m?sentinel_user=u&sentinel_password=x", .sentinel_password = SECRET},
     .same = "redis+sentinel://h/m?sentinel_user=u&sentinel_password=" SECRET},
    {{.url = "rediss://h?tls_ca=x", .tls_ca = "ca", .tls_cert = "c", .tls_key = "k", .tls_server_name = "s"},
     .same = "rediss://h?tls_ca=ca&tls_cert=c&tls_key=k&tls_server_name=s"},
    {{.url = "rediss+cluster://h", .tls_insecure = 1}, .same = "rediss+cluster://h?tls_insecure=1"},
    {{.url = "redis://h", .user = "u"}, .why = "a user but no password"},
    {{.url = "redis://h", .user = "", .password = ""}, .why = "user has no value"},
    {{.url = "redis://u:p@h", .user = "u"}, .why = "a user in the URL already"},
    {{.url = "redis://:p@h", .password = SECRET}, .why = "a password in the URL already"},
    {{.url = "redis://u@h?password_file=x", .password = SECRET}, .why = "a password in the URL already, or beside it"},
    {{.url = "redis://h", .tls_ca = "x"}, .why = "tls_ca needs TLS"},
    {{.url = "redis://h", .tls_insecure = 1}, .why = "tls_insecure needs TLS"},
    {{.url = "redis://h", .sentinel_password = SECRET}, .why = "sentinel_password is for Sentinel only"},
    {{.url = "redis+sentinel://h/m", .sentinel_user = "u"}, .why = "a sentinel_user but no sentinel_password"},
    {{.url = "redis+sentinel://h/m", .sentinel_password = ""}, .why = "sentinel_password has no value"},
    {{.url = "rediss://h", .tls_cert = "c"}, .why = "a tls_cert but no tls_key"},
    {{.url = "rediss://h?tls_ca=x", .tls_insecure = 1}, .why = "tls_ca has no effect with tls_insecure"},
    {{.url = "redis://h", .replicas = -1}, .why = "replicas must be from 1 to 100"},
    {{.url = "redis://h", .replicas = 101}, .why = "replicas must be from 1 to 100"},
    {{.url = "redis://h", .replicas = 1, .replicas_ms = -1}, .why = "replicas_ms must be from 1 to 3600000"},
    {{.url = "redis://h", .replicas_ms = 5}, .why = "replicas_ms has no effect without replicas"},
};

static void assert_same_urls(const struct url *a, const struct url *b)
{
    const struct accepted expected = {.host = b->n_nodes ? b->nodes[0].host : NULL,
                                      .port = b->n_nodes ? b->nodes[0].port : 0,
                                      .path = b->path,
                                      .user = b->user,
                                      .password = b->password,
                                      .kind = b->kind,
                                      .db = b->db,
                                      .master = b->master,
                                      .sentinel_user = b->sentinel_user,
                                      .sentinel_password = b->sentinel_password,
                                      .tls.is_on = b->tls.is_on,
                                      .tls.is_insecure = b->tls.is_insecure,
                                      .tls.ca = b->tls.ca,
                                      .tls.cert = b->tls.cert,
                                      .tls.key = b->tls.key,
                                      .tls.server_name = b->tls.server_name,
                                      .replicas = b->replicas,
                                      .replicas_ms = b->replicas_ms,
                                      .fsync = b->fsync};
    assert_same_url("options", a, &expected);
}

static void options_win_over_the_url(void **state)
{
    (void)state;
    for (const struct beside *b = beside; b < beside + N_OF(beside); b++) {
        struct url url, same = {0};
        const char *why = url_make_check(&b->o);
        int err = url_make(&url, &b->o);
        if (strncmp(b->o.url, "rediss", 6) == 0 && tls_missing()) {
            assert_err(err, MUSTER_E_INVALID);
            continue;
        }
        if (!b->why != !why || (why && (!strstr(why, b->why) || strstr(why, SECRET))))
            fail_msg("%s: '%s', expected '%s'", b->o.url, why ? why : "nothing wrong", b->why ? b->why : "nothing");
        assert_err(err, why ? MUSTER_E_INVALID : MUSTER_OK);
        if (why)
            continue;
        assert_null(url_parse_text(&same, b->same));
        assert_same_urls(&url, &same);
        url_clear(&same);
        url_clear(&url);
    }
}

static void a_connection_that_is_handed_in_takes_only_what_must_be_confirmed(void **state)
{
    const struct url_options good = {.url = "ignored", .replicas = 2, .replicas_ms = 9, .fsync = 1};
    const struct url_options bad[] = {{.user = "u"},
                                      {.password = SECRET},
                                      {.tls_ca = "x"},
                                      {.tls_insecure = 1},
                                      {.sentinel_user = "u"},
                                      {.tls_server_name = "x"},
                                      {.sentinel_password = SECRET}};
    struct url url;
    (void)state;
    assert_null(url_make_check_handed_in(&good));
    assert_ok(url_make_handed_in(&url, &good));
    assert_true(url.n_nodes == 0 && !url.path && url.replicas == 2 && url.replicas_ms == 9 && url.fsync);
    url_clear(&url);
    for (size_t i = 0; i < N_OF(bad); i++) {
        assert_non_null(strstr(url_make_check_handed_in(&bad[i]), "have no effect on a connection that is handed in"));
        assert_err(url_make_handed_in(&url, &bad[i]), MUSTER_E_INVALID);
    }
    assert_non_null(strstr(url_make_check_handed_in(&(struct url_options){.replicas = -1}), "replicas must be"));
}

/* ---- lengths ---- */

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
        struct url url;
        read_url(&url, &accepted[i]);
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

static void the_longest_server_name_is_accepted(void **state)
{
    char text[320] = "rediss://h?tls_server_name=";
    size_t len = strlen(text);
    struct url url = {0};
    (void)state;
    memset(text + len, 'x', HOST_LONGEST);
    text[len + HOST_LONGEST] = '\0';
    const struct url_options at_most = {.url = text};
    const char *why = tls_missing();
    assert_same_text("the longest", url_make_check(&at_most) ? "refused" : NULL, why ? "refused" : NULL);
    strcat(text, "x");
    assert_err(url_parse(&url, text, &why), MUSTER_E_INVALID);
    if (!tls_missing())
        assert_string_equal(why, "tls_server_name is too long");
}

static void so_many_hosts_and_no_more(void **state)
{
    char text[32 + 2 * URL_NODES_MAX] = "redis+cluster://h";
    (void)state;
    for (int i = 1; i < URL_NODES_MAX; i++)
        strcat(text, ",h");
    assert_null(muster_url_check(text));
    strcat(text, ",h");
    assert_refused(text, "more than 64 hosts");
}

static void a_copy_outlives_what_it_was_made_from(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(accepted); i++) {
        struct url url, copy;
        read_url(&url, &accepted[i]);
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
        cmocka_unit_test(what_is_accepted_may_be_used_where_there_is_tls_for_it),
        cmocka_unit_test(what_is_refused_says_why),
        cmocka_unit_test(what_an_option_may_complete_is_refused_only_without_it),
        cmocka_unit_test(options_win_over_the_url),
        cmocka_unit_test(a_connection_that_is_handed_in_takes_only_what_must_be_confirmed),
        cmocka_unit_test(the_longest_host_and_path_are_accepted),
        cmocka_unit_test(the_length_of_a_path_is_that_of_its_bytes),
        cmocka_unit_test(a_place_shows_where_and_never_a_password),
        cmocka_unit_test(a_place_is_cut_to_its_room),
        cmocka_unit_test(the_longest_server_name_is_accepted),
        cmocka_unit_test(so_many_hosts_and_no_more),
        cmocka_unit_test(a_copy_outlives_what_it_was_made_from),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
