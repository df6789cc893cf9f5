/* SPDX-License-Identifier: MIT
 *
 * Every call of the library that blocks on a client, made in a namespace of script_world.h.
 */
#ifndef BLOCKING_CALLS_H
#define BLOCKING_CALLS_H

#include <stddef.h>

struct muster_client;

/*
 *   roles  who may do it, by their first letters (examples/users.acl)
 *   run    `p` is a process under a lease; returns the error
 */
struct blocking_call {
    const char *name, *roles;
    int (*run)(struct muster_client *c, const char *p);
};

extern const struct blocking_call blocking_calls[];
extern const size_t n_blocking_calls;

#endif
