/* SPDX-License-Identifier: MIT
 *
 * Starting a child process for a task: see spawn.c.
 */
#ifndef SPAWN_H
#define SPAWN_H

#include <muster/worker.h>
#include <sys/types.h>

/* The exit status of a child whose program cannot be run, as in a shell. */
#define SPAWN_EXIT_CANNOT_RUN 126
#define SPAWN_EXIT_NOT_FOUND 127

/* Runs `path` with the arguments `argv`. In each argument the task replaces the text `replace`, unless that is NULL.
 * Returns the child's pid; or -1 with errno, which is E2BIG if the task is too long for an argument. */
pid_t spawn_child(struct muster_process *p, const char *path, char *const *argv, const char *replace);

/* Frees a list that ends with NULL, and its texts. NULL is allowed. */
void spawn_free_texts(char **texts);

#endif
