/* SPDX-License-Identifier: MIT
 *
 * A proxy on a Unix socket or a port in front of a redis-server, in a process of its own, that breaks connections on command.
 *
 *   - An order is in effect when its call returns.
 *   - A connection is one for data until it sends its first SUBSCRIBE or SSUBSCRIBE; from then on it is a subscription.
 *   - What was passed on to Redis is executed there, also when the connection is cut right afterwards.
 *   - A swallowed stream has a hole: once begun, it lasts as long as its connection. Lost messages are lost whole.
 *   - When one side is gone, what it had sent is passed on, and then the other side is closed.
 *   - It forgets nothing over a restart of Redis: meanwhile connections are accepted and closed at once.
 *
 * Start it before the processes that use it, and stop it after them. It dies with the test program.
 */
#ifndef PROXY_H
#define PROXY_H

#include <sys/types.h>

enum { PROXY_DATA = 1, PROXY_SUBSCRIPTION = 2, PROXY_BOTH = PROXY_DATA | PROXY_SUBSCRIPTION };
enum { PROXY_REQUESTS = 1, PROXY_REPLIES = 2 };

struct proxy {
    pid_t pid;
    int orders;
    char socket[96], url[112];
};

/*
 *   data, subscriptions  open now
 *   accepted, cut        connections in all; those that ended by themselves are not cut
 *   lost                 messages
 *   trapped              traps that have closed, see proxy_trap() and proxy_ration()
 */
struct proxy_counts {
    int data, subscriptions, accepted, cut, lost, trapped;
};

/* In the directory, for the server on the socket. */
void proxy_start(struct proxy *p, const char *dir, const char *server);
/* From one port of 127.0.0.1 to another. What is encrypted tells no subscription: all connections are for data. */
void proxy_start_tcp(struct proxy *p, int here, int server);
void proxy_stop(struct proxy *p);

/* Close all connections of these kinds, on both sides. Returns how many. */
int proxy_cut(struct proxy *p, int kinds);

/* From now on nothing that is sent these ways arrives, on the connections of these kinds that there are now. Returns
 * how many. */
int proxy_swallow(struct proxy *p, int kinds, int ways);

/* The next n messages to subscriptions get lost, whichever they are; INT_MAX: all; 0: from now on none. */
void proxy_lose(struct proxy *p, int n);

/* From now on all that is passed on waits for `ms` first, or up to twice as long in a steady stream; 0: not at all. */
void proxy_delay(struct proxy *p, int ms);

/* New connections are refused, or again accepted. Those that there are stay. */
void proxy_refuse(struct proxy *p);
void proxy_accept(struct proxy *p);

/* New connections go to this server: a socket, or a port after ':'. Those that there are stay. */
void proxy_lead(struct proxy *p, const char *server);

/*
 * The next connection for data that sends a request with this text in it, a script's SHA-1 for example, is cut, once:
 * PROXY_REQUESTS: before the request is passed on. PROXY_REPLIES: when Redis answers it, and the answer gets lost.
 */
void proxy_trap(struct proxy *p, const char *text, int way);

/* The same for n connections, one after the other. Behind the last one it may refuse new ones, until it is told to
 * accept them again. */
enum proxy_after { PROXY_ACCEPTS, PROXY_REFUSES };
void proxy_trap_n(struct proxy *p, const char *text, int way, int n, enum proxy_after after);

/* The next n bytes of replies to connections of these kinds are passed on; then the one for which there is more is cut,
 * once. It gets these bytes first. That closes the trap. */
void proxy_ration(struct proxy *p, int kinds, int n);

/* From now on the replies to connections of these kinds are passed on in drips of n bytes, one each `ms`; 0: they are
 * not. */
void proxy_pace(struct proxy *p, int kinds, int n, int ms);
/* The same for requests. PROXY_WAIT: they wait where they come from, as over a slow line; over TCP the proxy takes few bytes
 * beforehand. PROXY_HOARD: it takes all that there is. */
enum proxy_where { PROXY_WAIT, PROXY_HOARD };
void proxy_pace_requests(struct proxy *p, int kinds, int n, int ms, enum proxy_where where);

struct proxy_counts proxy_count(struct proxy *p);

#endif
