/* SPDX-License-Identifier: MIT
 *
 * A private redis-server of a test.
 *
 * The directory is removed by a keeper: a child that waits for SIGTERM, which it gets from redis_server_remove(), or
 * from the kernel when the test program dies. So there is one way of removing it, and it works after a SIGKILL, too.
 */
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "child.h"
#include "raw.h"
#include "redis_server.h"
#include "testing.h"
#include "wait.h"

#define PORT_TRIES 20
/* A test that looks at a server which it left frozen fails, instead of hanging. */
#define ANSWER_S 120
#define ARGS_MAX 60
/* Below the ports that the kernel draws: the other nodes call a node that was killed again and again, and must not be
 * given its port as their own. */
#define CLUSTER_PORT_MIN 12000
#define CLUSTER_PORTS 10000
#define BUS_PORT_ABOVE 10000

/* ---- the directory and its keeper ---- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* Again while it fails: the server, killed at the same moment, may still be creating a file. */
static bool is_removed(void *arg)
{
    const char *dir = arg;
    nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return access(dir, F_OK) != 0;
}

/* With all signals blocked. */
static void keep(char *dir)
{
    sigset_t end;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigwaitinfo(&end, NULL);
    _exit(wait_for(NULL, is_removed, dir, SOON_MS) ? 0 : 1);
}

static void make_dir(struct redis_server *s)
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp || strlen(tmp) > sizeof s->dir - sizeof("/muster-test-XXXXXX"))
        tmp = "/tmp";
    snprintf(s->dir, sizeof s->dir, "%s/muster-test-XXXXXX", tmp);
    if (!mkdtemp(s->dir))
        fail_msg("no directory like %s", s->dir);
    snprintf(s->socket, sizeof s->socket, "%s/redis.sock", s->dir);
    snprintf(s->url, sizeof s->url, "unix://%s", s->socket);
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* it may be told to remove it before it has run at all */
    s->keeper = child_fork();
    if (s->keeper == 0)
        keep(s->dir);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ---- the server ---- */

/* A socket that is bound to this port of 127.0.0.1; -1: it is taken. */
static int bind_port(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    a.sin_port = htons((uint16_t)port);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) ||
        bind(fd, (struct sockaddr *)&a, sizeof a)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The kernel names a port that is free now; whether it still is when the server binds it, the server tells. */
int redis_server_free_port(void)
{
    struct sockaddr_in a;
    socklen_t len = sizeof a;
    int fd = bind_port(0);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&a, &len))
        fail_msg("no free TCP port on 127.0.0.1");
    close(fd);
    return ntohs(a.sin_port);
}

static bool is_free(int port)
{
    int fd = bind_port(port);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Tests that run side by side begin at different ports. */
static int free_cluster_port(void)
{
    static unsigned next;
    if (next == 0)
        next = (unsigned)getpid() * 101U;
    for (int i = 0; i < CLUSTER_PORTS; i++) {
        int port = CLUSTER_PORT_MIN + (int)(next++ % CLUSTER_PORTS);
        if (is_free(port) && is_free(port + BUS_PORT_ABOVE))
            return port;
    }
    fail_msg("no free TCP ports for a node of a cluster");
    return 0;
}

static int choose_port(const struct redis_server_options *o)
{
    return o->cluster ? free_cluster_port() : o->tcp ? redis_server_free_port() : 0;
}

static size_t add_args(const char **argv, size_t n, const char *const *args)
{
    while (*args)
        argv[n++] = *args++;
    return n;
}

static const char *clock_path(const struct redis_server *s, char path[96])
{
    snprintf(path, 96, "%s/clock", s->dir);
    return path;
}

static void write_clock(const struct redis_server *s)
{
    char path[96];
    int fd = open(clock_path(s, path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pwrite(fd, &s->clock_us, sizeof s->clock_us, 0), sizeof s->clock_us);
    close(fd);
}

static void exec_server(struct redis_server *s)
{
    char port[8];
    snprintf(port, sizeof port, "%d", s->port);
    const char *argv[ARGS_MAX] = {"redis-server",
                                  "--port",
                                  port,
                                  "--bind",
                                  "127.0.0.1",
                                  "--unixsocket",
                                  s->socket,
                                  "--dir",
                                  s->dir,
                                  "--logfile",
                                  "redis.log",
                                  "--save",
                                  "",
                                  "--enable-debug-command",
                                  "yes",
                                  "--repl-diskless-sync-delay",
                                  "0",
                                  "--repl-ping-replica-period",
                                  "1",
                                  "--daemonize",
                                  "no"};
    const char *const aof[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};
    const char *const cluster[] = {
        "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-announce-ip", "127.0.0.1", NULL};
    char master_port[8];
    snprintf(master_port, sizeof master_port, "%d", s->options.replica_of ? s->options.replica_of->port : 0);
    const char *const replica[] = {"--replicaof", "127.0.0.1", master_port, NULL};
    size_t n = 0;
    while (argv[n])
        n++;
    if (s->options.aof)
        n = add_args(argv, n, aof);
    if (s->options.cluster)
        n = add_args(argv, n, cluster);
    if (s->options.replica_of)
        n = add_args(argv, n, replica);
    const char *const password[] = {"--requirepass", s->options.password, "--masterauth", s->options.password, NULL};
    if (s->options.password)
        n = add_args(argv, n, password);
    if (s->options.clock) {
        char path[96];
        setenv("MUSTER_TEST_CLOCK", clock_path(s, path), 1);
        setenv("LD_PRELOAD", s->options.clock, 1);
    }
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

static bool answers(struct redis_server *s)
{
    struct redisContext *c = redisConnectUnix(s->socket);
    struct redisReply *reply = NULL;
    if (c && !c->err && s->options.password)
        freeReplyObject(redisCommand(c, "AUTH %s", s->options.password));
    if (c && !c->err)
        reply = redisCommand(c, "PING");
    bool good = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    if (good) {
        redisSetTimeout(c, (struct timeval){.tv_sec = ANSWER_S});
        s->redis = c;
    } else if (c) {
        redisFree(c);
    }
    return good;
}

/* It answers, or it is dead and never will. */
static bool is_decided(void *arg)
{
    struct redis_server *s = arg;
    if (waitpid(s->pid, NULL, WNOHANG) == s->pid)
        s->pid = 0;
    return s->pid == 0 || answers(s);
}

static void log_tail(const struct redis_server *s, char *text, size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "%s/redis.log", s->dir);
    FILE *f = fopen(path, "r");
    text[0] = '\0';
    if (!f)
        return;
    if (fseek(f, -(long)size + 1, SEEK_END))
        rewind(f);
    text[fread(text, 1, size - 1, f)] = '\0';
    fclose(f);
}

/* Whether it came up. */
static bool boot(struct redis_server *s)
{
    unlink(s->socket);
    s->pid = child_fork();
    if (s->pid == 0)
        exec_server(s);
    wait_until(is_decided, s, SOON_MS);
    return s->pid != 0;
}

static void fail_with_log(const struct redis_server *s)
{
    char text[1024];
    log_tail(s, text, sizeof text);
    fail_msg("redis-server did not come up (is it installed?); the end of its log:\n%s", text);
}

void redis_server_start(struct redis_server *s, const struct redis_server_options *o)
{
    *s = (struct redis_server){0};
    if (o)
        s->options = *o;
    make_dir(s);
    if (s->options.clock)
        write_clock(s);
    int tries = s->options.tcp || s->options.cluster ? PORT_TRIES : 1;
    do
        s->port = choose_port(&s->options);
    while (!boot(s) && --tries);
    if (!tries)
        fail_with_log(s);
}

void redis_server_restart(struct redis_server *s)
{
    if (!boot(s))
        fail_with_log(s);
}

static void has_ended(struct redis_server *s)
{
    redisFree(s->redis);
    s->redis = NULL;
    s->pid = 0;
}

void redis_server_shutdown(struct redis_server *s)
{
    kill(s->pid, SIGTERM);
    child_reap(s->pid, SOON_MS);
    has_ended(s);
}

void redis_server_kill(struct redis_server *s)
{
    child_kill(&s->pid);
    has_ended(s);
}

void redis_server_step_clock(struct redis_server *s, int64_t ms)
{
    s->clock_us += ms * 1000;
    write_clock(s);
}

void redis_server_freeze(struct redis_server *s)
{
    kill(s->pid, SIGSTOP);
}

void redis_server_thaw(struct redis_server *s)
{
    kill(s->pid, SIGCONT);
}

void redis_server_await_replicas(struct redis_server *s, int n)
{
    raw_do(s->redis, "SPUBLISH nobody x"); /* replicas get it, and no data changes */
    raw_await(s->redis, NULL, n, "WAIT %d 100", n);
}

void redis_server_remove(struct redis_server *s)
{
    if (s->pid)
        redis_server_kill(s);
    kill(s->keeper, SIGTERM);
    int status = child_reap(s->keeper, 2 * SOON_MS);
    if (status)
        fail_msg("%s could not be removed: its keeper ended with wait status 0x%x", s->dir, (unsigned)status);
}

/* ---- looking at it ---- */

static int64_t number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

int64_t redis_server_info(struct redis_server *s, const char *field)
{
    char name[64], *text = raw_string(s->redis, "INFO");
    snprintf(name, sizeof name, "\n%s:", field);
    int64_t n = number_after(text, name);
    free(text);
    return n;
}

int64_t redis_server_calls(struct redis_server *s, const char *command)
{
    if (!command) {
        int64_t total = redis_server_info(s, "total_commands_processed");
        return total - redis_server_calls(s, "hello") - (int64_t)raw_sent();
    }
    char name[64], *text = raw_string(s->redis, "INFO commandstats");
    snprintf(name, sizeof name, "\ncmdstat_%s:calls=", command);
    int64_t n = number_after(text, name);
    free(text);
    return n;
}

void redis_server_digest(struct redis_server *s, char digest[41])
{
    char *text = raw_string(s->redis, "DEBUG DIGEST");
    snprintf(digest, 41, "%s", text);
    free(text);
}
