/* SPDX-License-Identifier: MIT
 *
 * The scripts' C side. One function per script builds its command, with KEYS and ARGV as the header of the .lua file
 * says. If the answer has parts, another function reads them: script_start() builds, script_started() reads. Blocking
 * and asynchronous callers send the same commands. The folders of lua/ are named like these files:
 *
 *   script_task.h    tasks: enqueue, ends, leases, cancel, the failed list
 *   script_queue.h   queues: pause, resume, delete, listen, settings
 *   script_job.h     jobs
 *   script_worker.h  workers: their life, their turns, and keeping the timer
 *   script_upgrade.h moving a namespace to this layout
 *   script_check.h   checks
 *
 * A built command borrows its arguments until it was sent. Each reading function returns MUSTER_OK, the script's own
 * status, or E_REDIS for an answer that does not have the promised form.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "protocol/keys.h"
#include "protocol/lua_scripts.h"
#include "protocol/token.h"
#include "redis/command.h"
#include "redis/reply.h"

/* The roots of a namespace: of its keys, which every script gets as its only key, and of its channels, which every
 * script gets as its last argument, when the command is sent. `db` is the number of the database. */
struct script_root {
    char text[KEY_MAX];
    size_t len;
    char channels[CHANNELS_MAX];
};
void script_root_init(struct script_root *root, const char *prefix, int db);

/* Who calls: one life of a worker, on one data connection. */
struct script_caller {
    const char *worker;
    char epoch[TOKEN_LEN + 1];
    uint64_t conn;
    int hands;
};

/* A queue that a worker serves, and the worker's own limit of hands on it; 0: none. */
struct script_queue {
    const char *name;
    int limit;
};

#endif
