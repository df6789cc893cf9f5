/* SPDX-License-Identifier: MIT
 *
 * TLS at the benchmark's own server: a certificate of a day, made by the command openssl, and a second port.
 */
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <muster/client.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "place.h"
#include "raw.h"

static void exec_openssl(const struct place *p)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    if (chdir(p->dir) == 0)
        execlp("openssl", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
               "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "1", "-subj", "/CN=muster-bench", "-addext",
               "subjectAltName=IP:127.0.0.1", (char *)NULL);
    _exit(127);
}

static bool make_certificate(const struct place *p)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        exec_openssl(p);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool open_port(const struct place *p, int port)
{
    struct redisContext *redis = raw_connect(p->url);
    redisReply *reply = redisCommand(
        redis, "CONFIG SET tls-cert-file %s/cert.pem tls-key-file %s/key.pem tls-auth-clients no tls-port %d", p->dir,
        p->dir, port);
    bool is_open = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    redisFree(redis);
    return is_open;
}

/* Does this build go through it? */
static bool is_reached(const struct place *p)
{
    struct muster_client *client;
    uint64_t waiting;
    const struct muster_client_options options = {.size = sizeof options, .url = p->url_tls};
    if (muster_client_new(&client, &options) != MUSTER_OK)
        return false;
    int err = muster_queue_length(client, "bench", &waiting);
    muster_client_free(client);
    return err == MUSTER_OK;
}

const char *place_add_tls(struct place *p)
{
    if (p->url_tls[0])
        return NULL;
    if (!p->url_tcp[0])
        return "it is for Redis servers of its own";
    if (!make_certificate(p))
        return "the command openssl makes no certificate";
    int port = place_free_port();
    if (!open_port(p, port))
        return "this redis-server has no TLS";
    snprintf(p->url_tls, sizeof p->url_tls, "rediss://127.0.0.1:%d?tls_ca=%s/cert.pem", port, p->dir);
    if (is_reached(p))
        return NULL;
    p->url_tls[0] = '\0';
    return "this build of muster does not reach it through TLS";
}
