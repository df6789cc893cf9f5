/* SPDX-License-Identifier: MIT
 *
 * A private redis-server of a test: on a Unix socket in a directory of its own, and on a free TCP port if asked for. It
 * dies with the test program, however that ends, and its directory is removed. A node of a cluster is one, too
 * (redis_cluster.h).
 *
 * `redis` is a blocking connection for looking at it (raw.h). It is opened again whenever the server comes up again.
 * All calls fail the test when they fail, with the end of the server's log.
 */
#ifndef REDIS_SERVER_H
#define REDIS_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct redisContext;

/*
 *   tcp         on a free port of 127.0.0.1 too
 *   cluster     a node of a cluster: on a port of 127.0.0.1, with its bus 10 000 ports above
 *   aof         append only file, synced on each write: nothing acknowledged is lost in a restart
 *   replica_of  the server whose replica it is, which has a port; NULL: none
 *   password    of the default user; NULL: none
 */
struct redis_server_options {
    bool tcp, cluster, aof;
    const struct redis_server *replica_of;
    const char *password;
    const char *clock; /* a library that makes its clock be set by redis_server_step_clock(); NULL: none */
};

struct redis_server {
    struct redis_server_options options;
    pid_t pid, keeper;
    char dir[64], socket[80], url[96];
    int port;
    struct redisContext *redis;
    int64_t clock_us; /* by how much its clock is ahead */
};

/* Start it, and return when it answers. */
void redis_server_start(struct redis_server *s, const struct redis_server_options *o);

/* Start it again on the same directory, socket and port. */
void redis_server_restart(struct redis_server *s);

/* End it: with SIGTERM, upon which it saves what it should, or with SIGKILL. The data stays. */
void redis_server_shutdown(struct redis_server *s);
void redis_server_kill(struct redis_server *s);

/* Set its clock so many ms ahead, or back if it is negative, as from now on. */
void redis_server_step_clock(struct redis_server *s, int64_t ms);

/* SIGSTOP and SIGCONT: it stands still with its connections open. */
void redis_server_freeze(struct redis_server *s);
void redis_server_thaw(struct redis_server *s);

/* Wait until n replicas have all that there is. */
void redis_server_await_replicas(struct redis_server *s, int n);

/* Kill it if it runs, and remove its directory. */
void redis_server_remove(struct redis_server *s);

/* A port of 127.0.0.1 that was free just now. */
int redis_server_free_port(void);

/* One number of INFO, as "total_commands_processed". */
int64_t redis_server_info(struct redis_server *s, const char *field);

/* How often a command has been called, within scripts or not. NULL: any command, other than by raw.h, and other than HELLO,
 * by which clients greet, and look once a second whether the server is a master still. */
int64_t redis_server_calls(struct redis_server *s, const char *command);

/* A digest of all data: equal digests, equal data. */
void redis_server_digest(struct redis_server *s, char digest[41]);

#endif
