/* SPDX-License-Identifier: MIT
 *
 * The server of the benchmark, and its keeper, which is the server's parent. So there is one way to end the server and
 * remove its files, and it works after a SIGKILL, too.
 */
#include "place.h"

#include <errno.h>
#include <ftw.h>
#include <hiredis/hiredis.h>
#include <muster/client.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "raw.h"

#define PORT_TRIES 10
#define NO_SERVER 127

/* ---- the keeper ---- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void exec_server(const struct place *p)
{
    char port[16], socket[PLACE_DIR_MAX + sizeof "/redis.sock"];
    snprintf(port, sizeof port, "%d", p->port);
    snprintf(socket, sizeof socket, "%s/redis.sock", p->dir);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execlp("redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1", "--unixsocket", socket, "--dir",
           p->dir, "--logfile", "redis.log", "--save", "", "--appendonly", "no", "--daemonize", "no", (char *)NULL);
    _exit(NO_SERVER);
}

/* Not in the group that a ^C reaches, and deaf to other signals: its work begins when this process has ended. */
static void become_keeper(pid_t parent, sigset_t *heard)
{
    sigset_t all;
    setpgid(0, 0);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        raise(SIGTERM);
    sigemptyset(heard);
    sigaddset(heard, SIGTERM);
    sigaddset(heard, SIGCHLD);
}

static void keep_server(const struct place *p, pid_t parent)
{
    sigset_t heard, none;
    int status = 0;
    become_keeper(parent, &heard);
    pid_t server = fork();
    if (server == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        exec_server(p);
    }
    if (server > 0) {
        if (sigwaitinfo(&heard, NULL) == SIGTERM)
            kill(server, SIGKILL);
        waitpid(server, &status, 0);
    }
    nftw(p->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 0);
}

static void keep_prefix(const struct place *p, pid_t parent)
{
    sigset_t heard;
    become_keeper(parent, &heard);
    sigdelset(&heard, SIGCHLD);
    sigwaitinfo(&heard, NULL);
    struct redisContext *redis = raw_connect(p->url);
    raw_remove(redis, p->prefix);
    redisFree(redis);
    _exit(0);
}

static void start_keeper(struct place *p, void (*keep)(const struct place *p, pid_t parent))
{
    pid_t parent = getpid();
    fflush(NULL);
    p->keeper = fork();
    if (p->keeper == 0)
        keep(p, parent);
    if (p->keeper < 0)
        fail("no process: %s", strerror(errno));
}

/* ---- the server ---- */

/* The kernel names a port that is free now. The server tells whether it is still free when it binds it. */
int place_free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) || getsockname(fd, (struct sockaddr *)&a, &len))
        fail("no free TCP port on 127.0.0.1: %s", strerror(errno));
    close(fd);
    return ntohs(a.sin_port);
}

static void make_dir(struct place *p)
{
    const char *tmp = getenv("TMPDIR");
    bool is_long = tmp && strlen(tmp) > sizeof p->dir - sizeof "/muster-bench-XXXXXX";
    if (is_long)
        fprintf(stderr, "muster-bench: TMPDIR is too long for the path of a socket: using /tmp\n");
    if (!tmp || is_long)
        tmp = "/tmp";
    snprintf(p->dir, sizeof p->dir, "%s/muster-bench-XXXXXX", tmp);
    if (!mkdtemp(p->dir))
        fail("no directory %s: %s", p->dir, strerror(errno));
    snprintf(p->url, sizeof p->url, "unix://%s/redis.sock", p->dir);
}

/* The server answers; or its keeper has ended, and the server with it: then `keeper` is 0. */
static bool is_decided(void *arg)
{
    struct place *p = arg;
    int status;
    if (waitpid(p->keeper, &status, WNOHANG) != p->keeper)
        return raw_answers(p->url);
    p->keeper = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SERVER)
        fail("redis-server cannot be run: install it, or name a Redis with --url");
    return true;
}

static void open_own(struct place *p)
{
    for (int i = 0; i < PORT_TRIES && !p->keeper; i++) {
        make_dir(p);
        p->port = place_free_port();
        start_keeper(p, keep_server);
        await(is_decided, p, "redis-server answers");
    }
    if (!p->keeper)
        fail("redis-server does not come up; name a Redis with --url");
    snprintf(p->url_tcp, sizeof p->url_tcp, "redis://127.0.0.1:%d", p->port);
}

/* The command's exit code for a Redis that cannot be used. */
static int status_of(int err)
{
    static const struct {
        int err, status;
    } statuses[] = {
        {MUSTER_E_CONN, 69}, {MUSTER_E_TIMEOUT, 69}, {MUSTER_E_BUSY, 75}, {MUSTER_E_FULL, 75}, {MUSTER_E_DENIED, 77}};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].err == err)
            return statuses[i].status;
    return 1;
}

static void reach(const char *url)
{
    struct muster_client *client;
    uint64_t waiting;
    const struct muster_client_options options = {.size = sizeof options, .url = url};
    must(muster_client_new(&client, &options), "making a client");
    int err = muster_queue_length(client, "bench", &waiting);
    if (err != MUSTER_OK)
        fprintf(stderr, "muster-bench: %s: without --url and MUSTER_URL it starts a Redis of its own\n",
                muster_client_error(client));
    muster_client_free(client);
    if (err != MUSTER_OK)
        exit(status_of(err));
}

void place_open(struct place *p, const char *url, const char *prefix)
{
    *p = (struct place){.owner = getpid()};
    int n = snprintf(p->prefix, sizeof p->prefix, "%s-bench-%d-", prefix, (int)getpid());
    if (n > PLACE_PREFIX_MAX - 24)
        fail("the prefix '%s' is too long to be added to; choose a shorter one", prefix);
    if (!url) {
        open_own(p);
        return;
    }
    if (snprintf(p->url, sizeof p->url, "%s", url) >= (int)sizeof p->url)
        fail("the URL is longer than %d bytes", PLACE_URL_MAX - 1);
    reach(p->url);
    start_keeper(p, keep_prefix);
}

void place_close(struct place *p)
{
    if (!p->keeper || getpid() != p->owner)
        return;
    kill(p->keeper, SIGTERM);
    waitpid(p->keeper, NULL, 0);
    p->keeper = 0;
}
