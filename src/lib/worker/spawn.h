/* SPDX-License-Identifier: MIT
 *
 * Starting a child process for a task: see spawn.c.
 */
#ifndef SPAWN_H
#define SPAWN_H

#include <muster/worker.h>
#include <stdbool.h>
#include <sys/types.h>

/* Memory that is shared with one child: 0, or the errno with which it could not become its program. No exit status can
 * say this, because a program may exit with any. NULL: there is none. */
volatile int *spawn_note_new(void);
/* NULL is allowed. */
void spawn_note_free(volatile int *note);

/* Where the child prints: a pipe's end; -1: where the program does. */
struct spawn_output {
    int out, err;
};

/* Runs `path` with the arguments `argv`. In each argument the task replaces the text `replace`, unless that is NULL.
 * Returns the child's pid; or -1 with errno, which is E2BIG if all of it is too long for the kernel. The caller frees
 * the note once the child is gone. */
pid_t spawn_child(struct muster_process *p, const char *path, char *const *argv, const char *replace,
                  const struct spawn_output *output, volatile int *note);

/* It was too long: would it be short enough without the task's bytes? */
bool spawn_is_task_too_long(struct muster_process *p, char *const *argv, const char *replace);

/* Frees a list that ends with NULL, and its texts. NULL is allowed. */
void spawn_free_texts(char **texts);

#endif
