/* SPDX-License-Identifier: MIT
 *
 * The proxy's own process: its orders and its answers, over a socket of whole packets. Only for proxy.c.
 */
#ifndef PROXY_RELAY_H
#define PROXY_RELAY_H

#include "proxy.h"

enum proxy_verb {
    PROXY_CUT,
    PROXY_SWALLOW,
    PROXY_LOSE,
    PROXY_DELAY,
    PROXY_REFUSE,
    PROXY_ACCEPT,
    PROXY_TRAP,
    PROXY_RATION,
    PROXY_PACE,
    PROXY_PACE_REQUESTS,
    PROXY_LEAD,
    PROXY_COUNT
};

struct proxy_order {
    enum proxy_verb verb;
    int kinds, ways, n;
    enum proxy_where where;
    char text[96];
};

struct proxy_answer {
    int affected;
    struct proxy_counts counts;
};

/* Listens `here`, connects `there`, and obeys until nobody is left to give orders. */
_Noreturn void proxy_relay_run(int orders, const char *here, const char *there);

#endif
