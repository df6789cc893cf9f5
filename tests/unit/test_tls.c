/* SPDX-License-Identifier: MIT
 *
 * TLS sessions with a server in the same process: who is believed, what is said of whom is not, what arrives, and how
 * it ends. The library's side waits for nothing, so both sides take turns on one thread.
 */
#include <errno.h>
#include <openssl/err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "redis/tls.h"
#include "testing.h"
#include "tls_peer.h"

#define NAME "redis.example.org"
#define BIG (1 << 20)
#define PATH_LEN 192

/* What all cases share: some who may be believed, and their files. */
static struct world {
    struct tls_id ca, server, client, other_ca, stranger;
    char dir[64], ca_file[PATH_LEN], cert_file[PATH_LEN], key_file[PATH_LEN], other_ca_file[PATH_LEN],
        stranger_cert[PATH_LEN], stranger_key[PATH_LEN];
} world;

static struct pair {
    struct tls_context *context;
    struct tls *tls;
    struct tls_peer peer;
    int fd;
} pair;

static char *in_dir(char out[PATH_LEN], const char *name)
{
    snprintf(out, PATH_LEN, "%s/%s", world.dir, name);
    return out;
}

static int make_world(void **state)
{
    (void)state;
    strcpy(world.dir, "/tmp/muster-tls-XXXXXX");
    if (!mkdtemp(world.dir))
        return -1;
    world.ca = tls_peer_id(&(struct tls_id_about){.name = "our CA", .is_ca = true});
    world.other_ca = tls_peer_id(&(struct tls_id_about){.name = "other CA", .is_ca = true});
    world.server = tls_peer_id(&(struct tls_id_about){
        .name = "ignored", .alt_names = "DNS:" NAME ",DNS:*.wild.org,IP:10.0.0.7,IP:::7", .by = &world.ca});
    world.client = tls_peer_id(&(struct tls_id_about){.name = "a client", .by = &world.ca});
    world.stranger = tls_peer_id(&(struct tls_id_about){.name = "a stranger", .by = &world.other_ca});
    tls_peer_write_cert(&world.ca, in_dir(world.ca_file, "ca.pem"));
    tls_peer_write_cert(&world.other_ca, in_dir(world.other_ca_file, "other_ca.pem"));
    tls_peer_write_cert(&world.client, in_dir(world.cert_file, "client.pem"));
    tls_peer_write_key(&world.client, in_dir(world.key_file, "client.key"), NULL);
    tls_peer_write_cert(&world.stranger, in_dir(world.stranger_cert, "stranger.pem"));
    tls_peer_write_key(&world.stranger, in_dir(world.stranger_key, "stranger.key"), NULL);
    return 0;
}

static int drop_world(void **state)
{
    char command[96];
    (void)state;
    tls_peer_id_free(&world.ca);
    tls_peer_id_free(&world.server);
    tls_peer_id_free(&world.client);
    tls_peer_id_free(&world.other_ca);
    tls_peer_id_free(&world.stranger);
    snprintf(command, sizeof command, "rm -r %s", world.dir);
    return system(command);
}

static struct url_tls trusting(void)
{
    return (struct url_tls){.is_on = true, .ca = world.ca_file};
}

static void open_pair(const struct url_tls *o, const struct tls_peer_about *about, const char *name)
{
    char why[400] = "";
    int err = tls_context_new(&pair.context, o, why, sizeof why);
    if (err != MUSTER_OK)
        fail_msg("no context: %s", why);
    pair.fd = tls_peer_new(&pair.peer, about);
    assert_ok(tls_new(&pair.tls, pair.context, pair.fd, name));
}

static int close_pair(void **state)
{
    (void)state;
    tls_free(pair.tls);
    tls_context_free(pair.context);
    if (pair.context) {
        tls_peer_free(&pair.peer);
        close(pair.fd);
    }
    pair = (struct pair){0};
    ERR_clear_error();
    return 0;
}

static bool is_waiting(enum tls_result r)
{
    return r == TLS_WANTS_READ || r == TLS_WANTS_WRITE;
}

/* Both sides take turns, until the library's has an end. The server's goes on for what it says after its own. */
static enum tls_result shake(void)
{
    enum tls_result r = TLS_WANTS_READ;
    for (int i = 0; i < 20 && is_waiting(r); i++) {
        r = tls_shake(pair.tls);
        SSL_do_handshake(pair.peer.ssl);
    }
    ERR_clear_error();
    return r;
}

static void assert_shaken(void)
{
    if (shake() != TLS_DONE)
        fail_msg("%s", tls_why(pair.tls));
}

static void assert_says(const char *part)
{
    if (!strstr(tls_why(pair.tls), part))
        fail_msg("'%s', expected '... %s ...'", tls_why(pair.tls), part);
    assert_null(strchr(tls_why(pair.tls), '\n'));
}

/* One session from its beginning to the refusal. */
static void assert_refused(const struct url_tls *o, const struct tls_peer_about *about, const char *name,
                           const char *why)
{
    open_pair(o, about, name);
    assert_int_equal(shake(), TLS_FAILED);
    assert_says(why);
    close_pair(NULL);
}

static void assert_accepted(const struct url_tls *o, const struct tls_peer_about *about, const char *name)
{
    open_pair(o, about, name);
    assert_shaken();
    close_pair(NULL);
}

/* ---- who is believed ---- */

static void a_server_is_believed_by_its_names(void **state)
{
    const struct url_tls o = trusting();
    const char *const names[] = {NAME, "REDIS.example.ORG", NAME ".", "a.wild.org", "10.0.0.7", "::7", "0:0::0007"};
    (void)state;
    for (size_t i = 0; i < N_OF(names); i++)
        assert_accepted(&o, &(struct tls_peer_about){.id = &world.server}, names[i]);
}

static void a_wrong_name_is_told_with_the_right_ones(void **state)
{
    const struct url_tls o = trusting();
    const char *const names[] = {"other.example.org", "example.org", "wild.org", "a.b.wild.org", "10.0.0.8", "::8"};
    (void)state;
    for (size_t i = 0; i < N_OF(names); i++) {
        char why[200];
        snprintf(why, sizeof why,
                 "certificate is for " NAME ", *.wild.org, 10.0.0.7, 0:0:0:0:0:0:0:7, not for %s: connect", names[i]);
        assert_refused(&o, &(struct tls_peer_about){.id = &world.server}, names[i], why);
    }
}

static void the_common_name_counts_where_there_is_no_other(void **state)
{
    const struct url_tls o = trusting();
    struct tls_id id = tls_peer_id(&(struct tls_id_about){.name = NAME, .by = &world.ca});
    (void)state;
    assert_accepted(&o, &(struct tls_peer_about){.id = &id}, NAME);
    assert_refused(&o, &(struct tls_peer_about){.id = &id}, "other.org", "is for " NAME ", not for other.org");
    tls_peer_id_free(&id);
}

static void names_in_a_certificate_cannot_write_on_a_terminal(void **state)
{
    const struct url_tls o = trusting();
    struct tls_id id = tls_peer_id(&(struct tls_id_about){.name = "a\x1b[2J\nb", .by = &world.ca});
    (void)state;
    assert_refused(&o, &(struct tls_peer_about){.id = &id}, NAME, "is for a?[2J?b, not for");
    tls_peer_id_free(&id);
}

static void a_certificate_outside_its_time_is_told_with_the_time(void **state)
{
    const struct url_tls o = trusting();
    struct tls_id old = tls_peer_id(&(struct tls_id_about){
        .name = "x", .alt_names = "DNS:" NAME, .by = &world.ca, .from_days = -9, .until_days = -2});
    struct tls_id young = tls_peer_id(&(struct tls_id_about){
        .name = "x", .alt_names = "DNS:" NAME, .by = &world.ca, .from_days = 2, .until_days = 9});
    (void)state;
    assert_refused(&o, &(struct tls_peer_about){.id = &old}, NAME, "certificate (" NAME ") has expired, on 20");
    assert_refused(&o, &(struct tls_peer_about){.id = &young}, NAME, "certificate (" NAME ") is not valid before 20");
    tls_peer_id_free(&old);
    tls_peer_id_free(&young);
}

static void the_certificate_of_a_ca_expires_too(void **state)
{
    struct url_tls o = trusting();
    char path[PATH_LEN];
    struct tls_id ca =
        tls_peer_id(&(struct tls_id_about){.name = "old CA", .is_ca = true, .from_days = -9, .until_days = -2});
    struct tls_id id = tls_peer_id(&(struct tls_id_about){.name = NAME, .by = &ca});
    (void)state;
    tls_peer_write_cert(&ca, in_dir(path, "old_ca.pem"));
    o.ca = path;
    assert_refused(&o, &(struct tls_peer_about){.id = &id}, NAME,
                   "certificate of the server's CA (old CA) has expired");
    tls_peer_id_free(&ca);
    tls_peer_id_free(&id);
}

static void who_is_signed_by_nobody_known_is_refused_with_the_next_step(void **state)
{
    const struct url_tls by_system = {.is_on = true};
    struct url_tls by_other = {.is_on = true, .ca = world.other_ca_file};
    struct tls_id self = tls_peer_id(&(struct tls_id_about){.name = NAME, .alt_names = "DNS:" NAME});
    (void)state;
    assert_refused(&by_system, &(struct tls_peer_about){.id = &self}, NAME,
                   "signed by itself, '" NAME "': give it by tls_ca");
    assert_refused(&by_system, &(struct tls_peer_about){.id = &world.server}, NAME,
                   "signed by 'our CA', which is not known here: give that CA by tls_ca");
    assert_refused(&by_other, &(struct tls_peer_about){.id = &world.server}, NAME,
                   "signed by 'our CA', which is not in tls_ca");
    assert_refused(&by_other, &(struct tls_peer_about){.id = &self}, NAME,
                   "signed by '" NAME "', which is not in tls_ca");
    tls_peer_id_free(&self);
}

static void a_self_signed_certificate_may_be_the_ca(void **state)
{
    struct url_tls o = trusting();
    char path[PATH_LEN];
    struct tls_id self = tls_peer_id(&(struct tls_id_about){.name = NAME, .alt_names = "DNS:" NAME});
    (void)state;
    tls_peer_write_cert(&self, in_dir(path, "self.pem"));
    o.ca = path;
    assert_accepted(&o, &(struct tls_peer_about){.id = &self}, NAME);
    assert_refused(&o, &(struct tls_peer_about){.id = &self}, "other.org", "is for " NAME);
    tls_peer_id_free(&self);
}

static void a_ca_is_found_in_a_folder(void **state)
{
    struct url_tls o = trusting();
    char folder[PATH_LEN], path[PATH_LEN + 64];
    (void)state;
    assert_int_equal(mkdir(in_dir(folder, "cas"), 0700), 0);
    snprintf(path, sizeof path, "%s/%08lx.0", folder,
             X509_NAME_hash_ex(X509_get_subject_name(world.ca.cert), NULL, NULL, NULL));
    tls_peer_write_cert(&world.ca, path);
    o.ca = folder;
    assert_accepted(&o, &(struct tls_peer_about){.id = &world.server}, NAME);
}

static void insecure_believes_everybody(void **state)
{
    const struct url_tls o = {.is_on = true, .is_insecure = true};
    (void)state;
    assert_accepted(&o, &(struct tls_peer_about){.id = &world.server}, "anything");
    assert_accepted(&o, &(struct tls_peer_about){.id = &world.stranger}, "10.9.8.7");
}

static void a_name_is_sent_to_the_server_and_an_address_is_not(void **state)
{
    const struct url_tls o = trusting();
    (void)state;
    open_pair(&o, &(struct tls_peer_about){.id = &world.server}, NAME ".");
    assert_shaken();
    assert_string_equal(pair.peer.asked_name, NAME);
    close_pair(NULL);
    open_pair(&o, &(struct tls_peer_about){.id = &world.server}, "10.0.0.7");
    assert_shaken();
    assert_string_equal(pair.peer.asked_name, "");
}

/* ---- who we are ---- */

/* A server of TLS 1.3 refuses a client after the handshake, as the client sees it: the first answer is the refusal. */
static void assert_client_refused(const struct url_tls *o, int version, const char *why)
{
    char byte;
    size_t n;
    open_pair(o, &(struct tls_peer_about){.id = &world.server, .client_ca = &world.ca, .version = version}, NAME);
    enum tls_result r = shake();
    for (int i = 0; i < 5 && (r == TLS_DONE || is_waiting(r)); i++)
        r = tls_read(pair.tls, &byte, 1, &n);
    assert_int_equal(r, TLS_FAILED);
    assert_says(why);
    close_pair(NULL);
}

static void a_client_shows_its_certificate(void **state)
{
    struct url_tls o = trusting();
    char byte = 0;
    size_t n = 0;
    (void)state;
    o.cert = world.cert_file;
    o.key = world.key_file;
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        open_pair(&o, &(struct tls_peer_about){.id = &world.server, .client_ca = &world.ca, .version = version}, NAME);
        assert_shaken();
        assert_int_equal(SSL_write(pair.peer.ssl, "x", 1), 1);
        assert_int_equal(tls_read(pair.tls, &byte, 1, &n), TLS_DONE);
        assert_int_equal(byte, 'x');
        close_pair(NULL);
    }
}

static void a_server_that_asks_for_a_certificate_is_told_of(void **state)
{
    const struct url_tls o = trusting();
    (void)state;
    assert_client_refused(&o, TLS1_2_VERSION, "asks for a client certificate: give tls_cert and tls_key");
    assert_client_refused(&o, TLS1_3_VERSION, "asks for a client certificate: give tls_cert and tls_key");
}

static void a_certificate_that_the_server_refuses_is_told_of(void **state)
{
    struct url_tls o = trusting();
    (void)state;
    o.cert = world.stranger_cert;
    o.key = world.stranger_key;
    assert_client_refused(&o, TLS1_2_VERSION, "does not know the CA of the client certificate");
    assert_client_refused(&o, TLS1_3_VERSION, "does not know the CA of the client certificate");
}

/* The refusal itself may be lost, when the connection is reset. */
static void an_end_instead_of_the_first_answer_is_a_refusal_too(void **state)
{
    const struct url_tls o = trusting();
    char byte;
    size_t n;
    (void)state;
    open_pair(&o, &(struct tls_peer_about){.id = &world.server, .client_ca = &world.ca, .version = TLS1_3_VERSION},
              NAME);
    assert_int_equal(tls_shake(pair.tls), TLS_WANTS_READ);
    SSL_do_handshake(pair.peer.ssl);
    assert_int_equal(tls_shake(pair.tls), TLS_DONE);
    shutdown(pair.peer.fd, SHUT_RDWR);
    assert_int_equal(tls_read(pair.tls, &byte, 1, &n), TLS_FAILED);
    assert_says("asks for a client certificate");
}

/* ---- who is no TLS server ---- */

static void a_server_without_tls_is_told_of(void **state)
{
    const struct url_tls o = trusting();
    const char *const answers[] = {"-ERR Protocol error\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "+OK\r\n"};
    (void)state;
    for (size_t i = 0; i < N_OF(answers); i++) {
        open_pair(&o, &(struct tls_peer_about){.id = &world.server}, NAME);
        assert_int_equal(tls_shake(pair.tls), TLS_WANTS_READ);
        assert_says("no answer to the TLS handshake: does the server speak TLS on this port?");
        assert_true(write(pair.peer.fd, answers[i], strlen(answers[i])) > 0);
        assert_int_equal(tls_shake(pair.tls), TLS_FAILED);
        assert_says("does not speak TLS on this port: use redis://");
        close_pair(NULL);
    }
}

static void a_server_that_ends_the_handshake_is_told_of(void **state)
{
    const struct url_tls o = trusting();
    (void)state;
    open_pair(&o, &(struct tls_peer_about){.id = &world.server}, NAME);
    assert_int_equal(tls_shake(pair.tls), TLS_WANTS_READ);
    shutdown(pair.peer.fd, SHUT_RDWR);
    assert_int_equal(tls_shake(pair.tls), TLS_FAILED);
    assert_says("has ended the TLS handshake: does it speak TLS on this port?");
}

static void old_tls_is_refused(void **state)
{
    const struct url_tls o = trusting();
    (void)state;
    assert_refused(&o, &(struct tls_peer_about){.id = &world.server, .version = TLS1_1_VERSION}, NAME,
                   "no TLS 1.2 or newer");
}

/* ---- files ---- */

static void assert_no_context(const struct url_tls *o, const char *why)
{
    struct tls_context *c = (struct tls_context *)&pair;
    char words[400] = "";
    assert_err(tls_context_new(&c, o, words, sizeof words), MUSTER_E_INVALID);
    assert_null(c);
    if (!strstr(words, why))
        fail_msg("'%s', expected '... %s ...'", words, why);
    assert_true(ERR_peek_error() == 0);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void files_that_cannot_be_used_are_named(void **state)
{
    char empty[PATH_LEN], encrypted[PATH_LEN], why[300];
    (void)state;
    put(in_dir(empty, "empty"), "nothing\n");
    tls_peer_write_key(&world.client, in_dir(encrypted, "encrypted.key"), "secret");
    struct url_tls o = {.is_on = true, .ca = (char[]){"/nonexistent/ca"}};
    assert_no_context(&o, "tls_ca: /nonexistent/ca: No such file or directory");
    o.ca = empty;
    snprintf(why, sizeof why, "tls_ca: %s: there is no certificate", empty);
    assert_no_context(&o, why);
    o = trusting();
    o.cert = (char[]){"/nonexistent/cert"};
    o.key = world.key_file;
    assert_no_context(&o, "tls_cert: /nonexistent/cert: No such file");
    o.cert = empty;
    assert_no_context(&o, "there is no certificate in PEM form");
    o.cert = world.cert_file;
    o.key = (char[]){"/nonexistent/key"};
    assert_no_context(&o, "tls_key: /nonexistent/key: No such file");
    o.key = empty;
    assert_no_context(&o, "there is no key in PEM form");
    o.key = world.stranger_key;
    snprintf(why, sizeof why, "tls_key: %s: it is not the key of the certificate %s", o.key, o.cert);
    assert_no_context(&o, why);
    o.key = encrypted;
    assert_no_context(&o, "it is encrypted: give a key without a passphrase");
}

/* ---- files that are renewed ---- */

/* A session by a context that outlives it. */
static enum tls_result try_with(struct tls_context *c, const struct tls_peer_about *about)
{
    pair.fd = tls_peer_new(&pair.peer, about);
    assert_ok(tls_new(&pair.tls, c, pair.fd, NAME));
    enum tls_result r = shake();
    pair.context = NULL;
    tls_free(pair.tls);
    tls_peer_free(&pair.peer);
    close(pair.fd);
    pair = (struct pair){0};
    ERR_clear_error();
    return r;
}

static void renew(struct tls_context **c, const struct url_tls *o)
{
    char why[400] = "";
    if (tls_context_renew(c, o, why, sizeof why) != MUSTER_OK)
        fail_msg("no context: %s", why);
}

/* In one step, as those who renew certificates do. */
static void put_cert(const struct tls_id *id, const char *path)
{
    char new[PATH_LEN];
    tls_peer_write_cert(id, in_dir(new, "new.pem"));
    assert_int_equal(rename(new, path), 0);
}

static void count_line(enum muster_log_level level, const char *line, void *n)
{
    (void)level;
    *(int *)n += strstr(line, "cannot be read again") != NULL;
}

static void files_are_read_again_when_they_have_changed(void **state)
{
    const struct tls_peer_about server = {.id = &world.server};
    struct tls_context *c = NULL, *before;
    char ca[PATH_LEN];
    int n_lines = 0;
    (void)state;
    const struct url_tls o = {.is_on = true, .ca = in_dir(ca, "renewed.pem")};
    put_cert(&world.ca, ca);
    renew(&c, &o);
    assert_int_equal(try_with(c, &server), TLS_DONE);
    before = c;
    renew(&c, &o);
    assert_ptr_equal(c, before);
    put_cert(&world.other_ca, ca);
    renew(&c, &o);
    assert_int_equal(try_with(c, &server), TLS_FAILED);
    put_cert(&world.ca, ca);
    renew(&c, &o);
    assert_int_equal(try_with(c, &server), TLS_DONE);
    muster_log_set(count_line, &n_lines);
    put(ca, "it is being written just now");
    for (int i = 0; i < 2; i++) {
        renew(&c, &o);
        assert_int_equal(try_with(c, &server), TLS_DONE);
    }
    assert_int_equal(n_lines, 1);
    muster_log_set(NULL, NULL);
    put_cert(&world.other_ca, ca);
    renew(&c, &o);
    assert_int_equal(try_with(c, &server), TLS_FAILED);
    tls_context_free(c);
}

/* A file in a folder is written anew, which the folder does not show. */
static void after_a_failure_they_are_read_again_whatever_has_changed(void **state)
{
    const struct tls_peer_about server = {.id = &world.server};
    struct tls_context *c = NULL;
    char dir[PATH_LEN], name[96], link[256], target[PATH_LEN];
    (void)state;
    const struct url_tls o = {.is_on = true, .ca = in_dir(dir, "folder")};
    assert_int_equal(mkdir(dir, 0700), 0);
    snprintf(name, sizeof name, "folder/%08lx.0",
             X509_NAME_hash_ex(X509_get_subject_name(world.ca.cert), NULL, NULL, NULL));
    in_dir(link, name);
    put_cert(&world.other_ca, in_dir(target, "target.pem"));
    assert_int_equal(symlink(target, link), 0);
    renew(&c, &o);
    assert_int_equal(try_with(c, &server), TLS_FAILED);
    put_cert(&world.ca, target);
    renew(&c, &o);
    assert_int_equal(try_with(c, &server), TLS_DONE);
    tls_context_free(c);
}

static void the_systems_authorities_are_read_again_too(void **state)
{
    const struct tls_peer_about server = {.id = &world.server};
    const struct url_tls o = {.is_on = true};
    struct tls_context *c = NULL;
    char file[PATH_LEN];
    (void)state;
    put_cert(&world.other_ca, in_dir(file, "system.pem"));
    assert_int_equal(setenv("SSL_CERT_FILE", file, 1), 0);
    renew(&c, &o);
    assert_int_equal(try_with(c, &server), TLS_FAILED);
    put_cert(&world.ca, file);
    renew(&c, &o);
    assert_int_equal(try_with(c, &server), TLS_DONE);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    tls_context_free(c);
}

/* As by a client for each request. */
static enum tls_result try_once(const struct url_tls *o, const struct tls_peer_about *about)
{
    struct tls_context *c = NULL;
    renew(&c, o);
    enum tls_result r = try_with(c, about);
    tls_context_free(c);
    return r;
}

static void who_is_new_has_what_the_system_has_now(void **state)
{
    const struct tls_peer_about server = {.id = &world.server};
    const struct url_tls o = {.is_on = true};
    char dir[PATH_LEN], name[96], file[PATH_LEN], link[PATH_LEN];
    (void)state;
    put_cert(&world.other_ca, in_dir(file, "system.pem"));
    assert_int_equal(setenv("SSL_CERT_FILE", file, 1), 0);
    assert_int_equal(try_once(&o, &server), TLS_FAILED);
    put_cert(&world.ca, file);
    assert_int_equal(try_once(&o, &server), TLS_DONE);
    put_cert(&world.other_ca, file);
    assert_int_equal(try_once(&o, &server), TLS_FAILED);
    assert_int_equal(setenv("SSL_CERT_DIR", in_dir(dir, "system"), 1), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    snprintf(name, sizeof name, "system/%08lx.0",
             X509_NAME_hash_ex(X509_get_subject_name(world.ca.cert), NULL, NULL, NULL));
    assert_int_equal(symlink("../in_folder.pem", in_dir(link, name)), 0);
    put_cert(&world.other_ca, in_dir(file, "in_folder.pem"));
    assert_int_equal(try_once(&o, &server), TLS_FAILED);
    put_cert(&world.ca, file); /* which the folder does not show */
    assert_int_equal(try_once(&o, &server), TLS_DONE);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    assert_int_equal(unsetenv("SSL_CERT_DIR"), 0);
}

/* ---- what arrives ---- */

static char pattern(size_t at)
{
    return (char)(at * 31 + at / 251);
}

/* The server's side sends back what it gets. */
static void echo(size_t *kept, char *store)
{
    int n;
    while (*kept < BIG && (n = SSL_read(pair.peer.ssl, store + *kept, (int)(BIG - *kept))) > 0)
        *kept += (size_t)n;
}

static void return_it(size_t *returned, size_t kept, const char *store)
{
    int n;
    while (*returned < kept && (n = SSL_write(pair.peer.ssl, store + *returned, (int)(kept - *returned))) > 0)
        *returned += (size_t)n;
}

/* From another buffer each time. */
static void send_some(size_t *sent)
{
    size_t n = 0, len = BIG - *sent < 50000 ? BIG - *sent : 50000;
    char *copy = malloc(len);
    assert_non_null(copy);
    for (size_t i = 0; i < len; i++)
        copy[i] = pattern(*sent + i);
    enum tls_result r = tls_write(pair.tls, copy, len, &n);
    assert_true(r == TLS_DONE ? n > 0 && n <= len : r == TLS_WANTS_WRITE && n == 0);
    *sent += n;
    free(copy);
}

static void receive_some(size_t *received)
{
    char data[5000];
    size_t n;
    enum tls_result r;
    while ((r = tls_read(pair.tls, data, sizeof data, &n)) == TLS_DONE) {
        for (size_t i = 0; i < n; i++)
            if (data[i] != pattern(*received + i))
                fail_msg("the byte %zu is wrong", *received + i);
        *received += n;
    }
    assert_int_equal(r, TLS_WANTS_READ);
}

static void much_goes_both_ways_over_a_narrow_socket(void **state)
{
    const struct url_tls o = trusting();
    size_t sent = 0, kept = 0, returned = 0, received = 0;
    char *store = malloc(BIG);
    (void)state;
    open_pair(&o, &(struct tls_peer_about){.id = &world.server}, NAME);
    SSL_set_mode(pair.peer.ssl, SSL_MODE_ENABLE_PARTIAL_WRITE);
    assert_shaken();
    for (int i = 0; received < BIG; i++) {
        assert_true(i < 100000);
        if (sent < BIG)
            send_some(&sent);
        echo(&kept, store);
        return_it(&returned, kept, store);
        receive_some(&received);
    }
    assert_int_equal(received, BIG);
    free(store);
}

/* What lies in the session is not seen on the socket. */
static void a_read_that_is_not_full_leaves_nothing_behind(void **state)
{
    const struct url_tls o = trusting();
    char data[100];
    size_t n;
    (void)state;
    open_pair(&o, &(struct tls_peer_about){.id = &world.server}, NAME);
    assert_shaken();
    for (int i = 0; i < 10; i++)
        assert_int_equal(SSL_write(pair.peer.ssl, "0123456", 7), 7);
    assert_int_equal(tls_read(pair.tls, data, 60, &n), TLS_DONE);
    assert_int_equal(n, 60);
    assert_int_equal(tls_read(pair.tls, data, sizeof data, &n), TLS_DONE);
    assert_int_equal(n, 10);
    assert_int_equal(tls_read(pair.tls, data, sizeof data, &n), TLS_WANTS_READ);
}

/* ---- the end ---- */

static void an_end_is_told_with_and_without_a_farewell(void **state)
{
    const struct url_tls o = trusting();
    char data[8];
    size_t n;
    (void)state;
    for (int has_farewell = 0; has_farewell <= 1; has_farewell++) {
        open_pair(&o, &(struct tls_peer_about){.id = &world.server}, NAME);
        assert_shaken();
        assert_int_equal(SSL_write(pair.peer.ssl, "last", 4), 4);
        if (has_farewell)
            SSL_shutdown(pair.peer.ssl);
        shutdown(pair.peer.fd, SHUT_RDWR);
        assert_int_equal(tls_read(pair.tls, data, sizeof data, &n), TLS_DONE);
        assert_memory_equal(data, "last", 4);
        assert_int_equal(tls_read(pair.tls, data, sizeof data, &n), TLS_CLOSED);
        assert_int_equal(tls_read(pair.tls, data, sizeof data, &n), TLS_CLOSED);
        close_pair(NULL);
    }
}

static void writing_to_who_is_gone_is_an_error_and_no_signal(void **state)
{
    const struct url_tls o = trusting();
    size_t n;
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    open_pair(&o, &(struct tls_peer_about){.id = &world.server}, NAME);
    assert_shaken();
    tls_peer_free(&pair.peer);
    assert_int_equal(tls_write(pair.tls, "x", 1, &n), TLS_FAILED);
    assert_says(strerror(EPIPE));
}

static void nonsense_inside_a_session_is_an_error(void **state)
{
    const struct url_tls o = trusting();
    char data[8];
    size_t n;
    (void)state;
    open_pair(&o, &(struct tls_peer_about){.id = &world.server}, NAME);
    assert_shaken();
    assert_true(write(pair.peer.fd, "\x17\x03\x03\x00\x20 this is not what was agreed on..", 39) > 0);
    assert_int_equal(tls_read(pair.tls, data, sizeof data, &n), TLS_FAILED);
    assert_says("TLS failed: ");
    assert_true(ERR_peek_error() == 0);
}

int main(int argc, char **argv)
{
#define tls_test(name) cmocka_unit_test_teardown(name, close_pair)
    const struct CMUnitTest tests[] = {
        tls_test(a_server_is_believed_by_its_names),
        tls_test(a_wrong_name_is_told_with_the_right_ones),
        tls_test(the_common_name_counts_where_there_is_no_other),
        tls_test(names_in_a_certificate_cannot_write_on_a_terminal),
        tls_test(a_certificate_outside_its_time_is_told_with_the_time),
        tls_test(the_certificate_of_a_ca_expires_too),
        tls_test(who_is_signed_by_nobody_known_is_refused_with_the_next_step),
        tls_test(a_self_signed_certificate_may_be_the_ca),
        tls_test(a_ca_is_found_in_a_folder),
        tls_test(insecure_believes_everybody),
        tls_test(a_name_is_sent_to_the_server_and_an_address_is_not),
        tls_test(a_client_shows_its_certificate),
        tls_test(a_server_that_asks_for_a_certificate_is_told_of),
        tls_test(a_certificate_that_the_server_refuses_is_told_of),
        tls_test(an_end_instead_of_the_first_answer_is_a_refusal_too),
        tls_test(a_server_without_tls_is_told_of),
        tls_test(a_server_that_ends_the_handshake_is_told_of),
        tls_test(old_tls_is_refused),
        tls_test(files_that_cannot_be_used_are_named),
        tls_test(files_are_read_again_when_they_have_changed),
        tls_test(after_a_failure_they_are_read_again_whatever_has_changed),
        tls_test(the_systems_authorities_are_read_again_too),
        tls_test(who_is_new_has_what_the_system_has_now),
        tls_test(much_goes_both_ways_over_a_narrow_socket),
        tls_test(a_read_that_is_not_full_leaves_nothing_behind),
        tls_test(an_end_is_told_with_and_without_a_farewell),
        tls_test(writing_to_who_is_gone_is_an_error_and_no_signal),
        tls_test(nonsense_inside_a_session_is_an_error),
    };
    return testing_run(tests, make_world, drop_world, argc, argv);
}
