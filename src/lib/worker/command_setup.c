/* SPDX-License-Identifier: MIT
 *
 * What is wrong with a command, where its program is, and a copy of all of it.
 */
#include "worker/command_setup.h"

#include <errno.h>
#include <muster/client.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/words.h"
#include "worker/spawn.h"

#define GRACE_DEFAULT_MS 5000

void command_setup_free(struct executor_command *setup)
{
    free(setup->path);
    spawn_free_texts(setup->argv);
    free(setup->replace);
    free(setup);
}

static bool can_be_run(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As the shell looks a program up; NULL with errno ENOENT or ENOMEM. */
static char *find_program(const char *name)
{
    const char *path = getenv("PATH");
    errno = ENOENT;
    if (strchr(name, '/'))
        return can_be_run(name) ? strdup(name) : NULL;
    for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *name && *path; path += *path == ':') {
        size_t len = strcspn(path, ":");
        char *candidate;
        if (asprintf(&candidate, "%.*s/%s", len ? (int)len : 1, len ? path : ".", name) < 0)
            return NULL;
        if (can_be_run(candidate))
            return candidate;
        free(candidate);
        path += len;
    }
    errno = ENOENT;
    return NULL;
}

static char **copy_texts(const char *const *texts)
{
    size_t n = 0;
    while (texts[n])
        n++;
    char **copy = calloc(n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        if (!(copy[i] = strdup(texts[i]))) {
            spawn_free_texts(copy);
            return NULL;
        }
    return copy;
}

static const char *check_outputs(const struct muster_command *command)
{
    if (command->on_stdout != MUSTER_STDOUT_PASS && command->on_stdout != MUSTER_STDOUT_RESULT)
        return words_say("on_stdout is %d, which is none of its values", (int)command->on_stdout);
    if (command->on_stderr != MUSTER_STDERR_MESSAGE && command->on_stderr != MUSTER_STDERR_PASS)
        return words_say("on_stderr is %d, which is none of its values", (int)command->on_stderr);
    if (command->result_max > MUSTER_TASK_MAX_DEFAULT)
        return words_say("result_max is %zu; it must be at most 64 MiB", command->result_max);
    if (command->result_max && command->on_stdout != MUSTER_STDOUT_RESULT)
        return "result_max has no effect unless standard output is the result (on_stdout)";
    return NULL;
}

static const char *check_command(const struct muster_command *command)
{
    if (!command->argv || !command->argv[0])
        return "argv has no program";
    if (command->replace && !*command->replace)
        return "replace is empty; it must be the text to replace, or NULL";
    if (command->retry_delay_ms < 0)
        return words_say("retry_delay_ms is %d; it must be 0 (the default) or more", command->retry_delay_ms);
    if (command->grace_ms < 0)
        return words_say("grace_ms is %d; it must be 0 (the default) or more", command->grace_ms);
    if (command->move_ms < 0)
        return words_say("move_ms is %d; it must be 0 (the default) or more", command->move_ms);
    if (command->on_move != MUSTER_MOVE_AWAY && command->on_move != MUSTER_MOVE_STAY)
        return words_say("on_move is %d, which is none of its values", (int)command->on_move);
    if (command->on_move == MUSTER_MOVE_STAY && command->move_ms)
        return "move_ms has no effect if the task stays (on_move)";
    return check_outputs(command);
}

static void set_numbers(struct executor_command *setup, const struct muster_command *command)
{
    setup->retry_delay_ms = command->retry_delay_ms ? command->retry_delay_ms : MUSTER_RETRY_DELAY_DEFAULT_MS;
    setup->grace_ms = command->grace_ms ? command->grace_ms : GRACE_DEFAULT_MS;
    setup->on_move = command->on_move;
    setup->move_ms = command->move_ms ? command->move_ms : MUSTER_MOVE_TIME_DEFAULT_MS;
    setup->on_stdout = command->on_stdout;
    setup->on_stderr = command->on_stderr;
    setup->result_max = command->result_max ? command->result_max : MUSTER_RESULT_DEFAULT;
}

int command_setup_new(struct executor_command **out, const struct muster_command *command, char *why, size_t size)
{
    const char *wrong = check_command(command);
    if (wrong) {
        snprintf(why, size, "%s", wrong);
        return MUSTER_E_INVALID;
    }
    struct executor_command *setup = calloc(1, sizeof *setup);
    if (!setup)
        return MUSTER_E_NOMEM;
    set_numbers(setup, command);
    setup->argv = copy_texts(command->argv);
    setup->replace = command->replace ? strdup(command->replace) : NULL;
    setup->path = find_program(command->argv[0]);
    int err = setup->path ? MUSTER_OK : errno == ENOMEM ? MUSTER_E_NOMEM : MUSTER_E_NOT_FOUND;
    if (!setup->argv || (command->replace && !setup->replace))
        err = MUSTER_E_NOMEM;
    if (err != MUSTER_OK) {
        snprintf(why, size, "%s: %s", command->argv[0], err == MUSTER_E_NOMEM ? "out of memory" : "command not found");
        command_setup_free(setup);
        return err;
    }
    *out = setup;
    return MUSTER_OK;
}
