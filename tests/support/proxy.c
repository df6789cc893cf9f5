/* SPDX-License-Identifier: MIT
 *
 * A proxy that breaks connections on command: the test's side. Each order goes over a socket pair, and its answer says
 * that it is done.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "proxy_relay.h"
#include "testing.h"

static struct proxy_answer tell(struct proxy *p, struct proxy_order o)
{
    struct proxy_answer answer = {0};
    if (send(p->orders, &o, sizeof o, MSG_NOSIGNAL) < 0 || read(p->orders, &answer, sizeof answer) != sizeof answer)
        fail_msg("the proxy %s hears no orders", p->socket);
    return answer;
}

static void start(struct proxy *p, const char *server)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
        fail_msg("no socket pair");
    p->pid = child_fork();
    if (p->pid == 0) {
        close(ends[0]);
        proxy_relay_run(ends[1], p->socket, server);
    }
    close(ends[1]);
    p->orders = ends[0];
    proxy_count(p);
}

void proxy_start(struct proxy *p, const char *dir, const char *server)
{
    static int n_proxies;
    snprintf(p->socket, sizeof p->socket, "%s/proxy%d.sock", dir, ++n_proxies);
    snprintf(p->url, sizeof p->url, "unix://%s", p->socket);
    start(p, server);
}

void proxy_start_tcp(struct proxy *p, int here, int server)
{
    char there[16];
    snprintf(p->socket, sizeof p->socket, ":%d", here);
    snprintf(p->url, sizeof p->url, "redis://127.0.0.1:%d", here);
    snprintf(there, sizeof there, ":%d", server);
    start(p, there);
}

void proxy_stop(struct proxy *p)
{
    child_kill(&p->pid);
    close(p->orders);
}

int proxy_cut(struct proxy *p, int kinds)
{
    return tell(p, (struct proxy_order){.verb = PROXY_CUT, .kinds = kinds}).affected;
}

int proxy_swallow(struct proxy *p, int kinds, int ways)
{
    return tell(p, (struct proxy_order){.verb = PROXY_SWALLOW, .kinds = kinds, .ways = ways}).affected;
}

void proxy_lose(struct proxy *p, int n)
{
    tell(p, (struct proxy_order){.verb = PROXY_LOSE, .n = n});
}

void proxy_delay(struct proxy *p, int ms)
{
    tell(p, (struct proxy_order){.verb = PROXY_DELAY, .n = ms});
}

void proxy_refuse(struct proxy *p)
{
    tell(p, (struct proxy_order){.verb = PROXY_REFUSE});
}

void proxy_accept(struct proxy *p)
{
    tell(p, (struct proxy_order){.verb = PROXY_ACCEPT});
}

void proxy_lead(struct proxy *p, const char *server)
{
    struct proxy_order o = {.verb = PROXY_LEAD};
    snprintf(o.text, sizeof o.text, "%s", server);
    tell(p, o);
}

void proxy_trap(struct proxy *p, const char *text, int way)
{
    proxy_trap_n(p, text, way, 1, PROXY_ACCEPTS);
}

void proxy_trap_n(struct proxy *p, const char *text, int way, int n, enum proxy_after after)
{
    struct proxy_order o = {.verb = PROXY_TRAP, .ways = way, .n = n, .kinds = after};
    snprintf(o.text, sizeof o.text, "%s", text);
    tell(p, o);
}

void proxy_ration(struct proxy *p, int kinds, int n)
{
    tell(p, (struct proxy_order){.verb = PROXY_RATION, .kinds = kinds, .n = n});
}

void proxy_pace(struct proxy *p, int kinds, int n, int ms)
{
    tell(p, (struct proxy_order){.verb = PROXY_PACE, .kinds = kinds, .n = n, .ways = ms});
}

void proxy_pace_requests(struct proxy *p, int kinds, int n, int ms, enum proxy_where where)
{
    tell(p, (struct proxy_order){.verb = PROXY_PACE_REQUESTS, .kinds = kinds, .n = n, .ways = ms, .where = where});
}

struct proxy_counts proxy_count(struct proxy *p)
{
    return tell(p, (struct proxy_order){.verb = PROXY_COUNT}).counts;
}
