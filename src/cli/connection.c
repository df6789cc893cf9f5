/* SPDX-License-Identifier: MIT
 *
 * A file with a password is read by the rule of ssh: if it is the user's own, nobody else may be able to read it. A
 * pipe, as from <(pass show redis), has no such rights.
 */
#include "connection.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <muster/client.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"
#include "need.h"
#include "progress.h"
#include "text.h"

#define PASSWORD_MAX 4096
#define PIPE_PATIENCE_MS 60000

static bool read_replicas(const char *text, int64_t *n, int64_t *ms)
{
    *ms = 0;
    if (!text_read_number(&text, n) || *n < 1 || *n > MUSTER_REPLICAS_MAX)
        return false;
    if (*text == '\0')
        return true;
    if (*text++ != ',')
        return false;
    return text_read_number(&text, ms) && *text == '\0' && *ms >= 1 && *ms <= MUSTER_REPLICAS_MS_MAX;
}

const char *connection_check_replicas(const char *text)
{
    int64_t n, ms;
    return read_replicas(text, &n, &ms) ? NULL : "it must be N or N,MS: N from 1 to 100, MS from 1 to 3600000";
}

/* ---- files with passwords ---- */

static int refuse(const struct call *call, const char *label, const char *path, const char *why)
{
    return complain_usage(call, "%s: %s: %s", label, path, why);
}

static int check_rights(const struct call *call, const char *label, const char *path, int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return refuse(call, label, path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return refuse(call, label, path, strerror(EISDIR));
    if (!S_ISREG(about.st_mode) && !S_ISFIFO(about.st_mode))
        return refuse(call, label, path, "it is neither a file nor a pipe");
    if (S_ISREG(about.st_mode) && about.st_uid == geteuid() && (about.st_mode & (S_IRGRP | S_IROTH)))
        return refuse(call, label, path, "others can read it: chmod 600 it first");
    return EXIT_DONE;
}

/* As much as there is room for. A pipe does not block: it may wait for a person, but not for ever. */
static ssize_t read_all(int fd, char *out, size_t size)
{
    size_t len = 0;
    ssize_t n;
    while (len < size && (n = read(fd, out + len, size - len)) != 0) {
        if (n < 0 && errno != EINTR && !(errno == EAGAIN && progress_wait_for_input(fd, PIPE_PATIENCE_MS) > 0))
            return -1;
        len += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)len;
}

static int read_first_line(const struct call *call, const char *label, const char *path, int fd, char **out)
{
    char text[PASSWORD_MAX + 2];
    int code = EXIT_DONE;
    ssize_t len = read_all(fd, text, sizeof text);
    size_t end = len < 0 ? 0 : (size_t)len;
    const char *newline = memchr(text, '\n', end);
    end = newline ? (size_t)(newline - text) : end;
    if (newline && end > 0 && text[end - 1] == '\r')
        end--;
    if (len < 0)
        code = progress_is_stopped() ? complain_stopped(call, "nothing was tried")
                                     : refuse(call, label, path, strerror(errno));
    else if (end == 0)
        code = refuse(call, label, path, "its first line, the password, is empty");
    else if (end > PASSWORD_MAX || memchr(text, '\0', end))
        code = refuse(call, label, path, "its first line is no password: it is too long, or has a NUL");
    else
        *out = need(strndup(text, end));
    explicit_bzero(text, sizeof text);
    return code;
}

int connection_read_secret(const struct call *call, const struct opt *o, const struct opt_value *value, char **out)
{
    char buffer[OPT_LABEL_SIZE];
    const char *label = opt_label(buffer, o, value), *path = value->text;
    if (!path)
        return EXIT_DONE;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return refuse(call, label, path, strerror(errno));
    int code = check_rights(call, label, path, fd);
    if (!code)
        code = read_first_line(call, label, path, fd, out);
    close(fd);
    return code;
}

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

/* "k:/x y" -> "k%3a/x%20y" */
static char *encode(const char *text)
{
    char *out = need(malloc(strlen(text) * 3 + 1)), *at = out;
    for (; *text; text++)
        at +=
            sprintf(at, isalnum((unsigned char)*text) || strchr("/._-", *text) ? "%c" : "%%%02x", (unsigned char)*text);
    *at = '\0';
    return out;
}

/* The URL names the file, so that it is read again when a password is changed. */
static void name_file(struct connection *c, const char *param, const char *path)
{
    const char *text = c->common[OPT_URL].text, *url = c->url          ? c->url
                                                       : text && *text ? text
                                                                       : opt_common[OPT_URL].fallback;
    char *encoded = encode(path), *longer;
    if (asprintf(&longer, "%s%c%s=%s", url, strchr(url, '?') ? '&' : '?', param, encoded) < 0)
        need(NULL);
    free(encoded);
    free(c->url);
    c->url = longer;
}

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* A pipe has a password once, but many a verb has more than one connection, also of several threads. */
static int read_once(const struct call *call, enum opt_common which, char **out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *piped[OPT_LIMIT];
    const char *path = call->common[which].text;
    int code = EXIT_DONE;
    pthread_mutex_lock(&lock);
    if (!piped[which])
        code = connection_read_secret(call, &opt_common[which], &call->common[which], out);
    if (!code && *out && !is_file(path))
        piped[which] = *out;
    if (piped[which])
        *out = need(strdup(piped[which]));
    pthread_mutex_unlock(&lock);
    return code;
}

/* It is looked at now, whoever reads it again, so that what is wrong is told as a wrong option. */
static int read_password(const struct call *call, enum opt_common which, struct connection *c, char **out)
{
    const char *path = call->common[which].text;
    int code = read_once(call, which, out);
    if (!code && path && is_file(path)) {
        name_file(c, which == OPT_PASSWORD_FILE ? "password_file" : "sentinel_password_file", path);
        wipe(*out);
        *out = NULL;
    }
    return code;
}

/* ---- all of it ---- */

bool connection_is_by_sentinel(const struct call *call)
{
    static const char *const schemes[] = {"redis+sentinel:", "rediss+sentinel:", "redis-sentinel:", "rediss-sentinel:"};
    const char *url = call->common[OPT_URL].text;
    for (size_t i = 0; url && i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

static int refuse_sentinel_password(const struct call *call)
{
    char buffer[OPT_LABEL_SIZE];
    return complain_usage(
        call, "%s: sentinel_password is for Sentinel only: redis+sentinel://",
        opt_label(buffer, &opt_common[OPT_SENTINEL_PASSWORD_FILE], &call->common[OPT_SENTINEL_PASSWORD_FILE]));
}

int connection_read(const struct call *call, struct connection *out)
{
    *out = (struct connection){.common = call->common};
    int64_t n = 0, ms = 0;
    if (call->common[OPT_REPLICAS].set)
        (void)read_replicas(call->common[OPT_REPLICAS].text, &n, &ms);
    out->replicas = (int)n;
    out->replicas_ms = (int)ms;
    int code = read_password(call, OPT_PASSWORD_FILE, out, &out->password);
    if (!code)
        code = read_password(call, OPT_SENTINEL_PASSWORD_FILE, out, &out->sentinel_password);
    if (!code && call->common[OPT_SENTINEL_PASSWORD_FILE].text && !connection_is_by_sentinel(call))
        code = refuse_sentinel_password(call);
    if (code)
        connection_clear(out);
    return code;
}

void connection_clear(struct connection *c)
{
    free(c->url);
    wipe(c->password);
    wipe(c->sentinel_password);
    *c = (struct connection){.common = c->common};
}

/* Who runs as this user reads it through /proc, whatever descriptors it has inherited. */
static bool pass_on_secret(const char *variable, const char *secret)
{
    char path[64];
    const size_t len = strlen(secret);
    int fd = memfd_create("muster-secret", MFD_CLOEXEC);
    if (fd < 0 || fchmod(fd, S_IRUSR | S_IWUSR) != 0 || write(fd, secret, len) != (ssize_t)len)
        return false;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    return setenv(variable, path, 1) == 0;
}

int connection_pass_on(const struct call *call, struct connection *c)
{
    for (size_t i = 0; opt_common[i].help; i++) {
        const struct opt_value *value = &call->common[i];
        const char *secret = i == OPT_PASSWORD_FILE            ? c->password
                             : i == OPT_SENTINEL_PASSWORD_FILE ? c->sentinel_password
                                                               : NULL;
        if (secret && !pass_on_secret(opt_common[i].env, secret)) {
            complain_refusal(call, COMPLAIN_SYSTEM, "cannot keep a password for the commands: %s", strerror(errno));
            connection_clear(c);
            return EXIT_FAILED;
        }
        if (!secret && (i == OPT_URL || i == OPT_PREFIX || i >= OPT_PASSWORD_FILE) && value->set &&
            !value->from_environment)
            setenv(opt_common[i].env, opt_common[i].kind == OPT_FLAG ? "1" : value->text, 1);
    }
    return EXIT_DONE;
}

static int refuse_group(const struct call *call, bool from_environment, const char *why)
{
    char buffer[OPT_LABEL_SIZE];
    for (int i = OPT_PASSWORD_FILE; i <= OPT_FSYNC; i++)
        if (call->common[i].set && call->common[i].from_environment == from_environment)
            return complain_usage(call, "%s: %s", opt_label(buffer, &opt_common[i], &call->common[i]), why);
    return EXIT_DONE;
}

int connection_refuse(const struct call *call, const char *why)
{
    return refuse_group(call, false, why);
}

int connection_refuse_environment(const struct call *call, const char *why)
{
    return refuse_group(call, true, why);
}

/* "tls-ca" of the options is tls_ca for the library. Returns its length at `at`; 0: another word stands there. */
static size_t param_len(const char *at, const char *option)
{
    size_t n = 0;
    while (option[n] && at[n] == (option[n] == '-' ? '_' : option[n]))
        n++;
    return option[n] || isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '=' ? 0 : n;
}

static size_t find_param(const struct call *call, const char *at, char room[OPT_LABEL_SIZE], const char **label)
{
    for (int i = OPT_PASSWORD_FILE; i <= OPT_TLS_INSECURE; i++) {
        size_t len = call->common[i].set ? param_len(at, opt_common[i].name) : 0;
        if (len > 0) {
            *label = opt_label(room, &opt_common[i], &call->common[i]);
            return len;
        }
    }
    return 0;
}

char *connection_words(const struct call *call, const char *words)
{
    char *text = NULL, room[OPT_LABEL_SIZE];
    const char *label = NULL;
    size_t len = 0;
    FILE *out = need(open_memstream(&text, &len));
    for (const char *at = words; *at;) {
        bool begins = at == words || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        size_t n = begins ? find_param(call, at, room, &label) : 0;
        if (n > 0)
            fputs(label, out);
        else
            fputc(*at, out);
        at += n > 0 ? n : 1;
    }
    fclose(out);
    return need(text);
}

char *connection_where(const char *url)
{
    const char *from = url && *url ? url : opt_common[OPT_URL].fallback, *scheme = strstr(from, "://");
    const char *host = scheme ? scheme + 3 : from;
    /* A login stands before the path; that of a socket may hold what ends others. */
    const char *at = memrchr(host, '@', strcspn(host, strncmp(from, "unix:", 5) == 0 ? "/" : "/?#"));
    char *text;
    if (at)
        host = at + 1;
    if (asprintf(&text, "%.*s%.*s", scheme ? (int)(scheme + 3 - from) : 0, from, (int)strcspn(host, "?"), host) < 0)
        need(NULL);
    return text;
}
