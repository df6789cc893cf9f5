/* SPDX-License-Identifier: MIT
 *
 * The command `muster`: calls the verb, and checks that standard output could be written. Each verb has a
 * file of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <muster/error.h>
#include <muster/version.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "first.h"
#include "help.h"
#include "need.h"
#include "out.h"
#include "parse.h"
#include "progress.h"
#include "stream.h"
#include "text.h"
#include "verbs.h"

/* ---- verbs ---- */

/* For what is wrong before the verb is known, or after it. */
static bool is_json;

static int refuse(const char *message)
{
    complain_alone(is_json, muster_err_name(MUSTER_E_INVALID), message);
    return EXIT_USAGE;
}

static int print_version(void)
{
    out_text("muster %s\n", muster_version());
    return EXIT_DONE;
}

static bool is_trace(const char *name, size_t len)
{
#define IS_TRACE(class) || (strlen(#class) == len && strncmp(name, #class, len) == 0)
    return len == 0 MUSTER_TRACES(IS_TRACE);
#undef IS_TRACE
}

/* Who misspells a class waits for lines that never come. */
static int check_traces(const struct call *call)
{
#define TRACE_WORD(class) " " #class
    for (const char *name = getenv("MUSTER_TRACE"); name && *name;) {
        size_t len = strcspn(name, ",");
        if (!is_trace(name, len)) {
            char *shown = text_printable(name, len, 60);
            int code = complain_usage(
                call, "MUSTER_TRACE: there is no class '%s'; the classes are" MUSTER_TRACES(TRACE_WORD), shown);
            free(shown);
            return code;
        }
        name += len + (name[len] == ',');
    }
#undef TRACE_WORD
    return EXIT_DONE;
}

static int run_verb(const struct call *call)
{
    int code = check_traces(call);
    if (code)
        return code;
    complain_library(call);
    stream_set_patience(call);
    code = progress_end(call->command->run(call));
    if (call->command->changes && code == EXIT_DONE)
        out_set_done();
    return code;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct call call = {.command = command};
    int code = parse_words(&call, argc, argv);
    if (code)
        ;
    else if (call.common[OPT_VERSION].set)
        code = print_version();
    else if (call.common[OPT_HELP].set)
        help_command(command);
    else
        code = run_verb(&call);
    parse_clear(&call);
    return code;
}

/* What comes before the verb, the verb, what comes after it: the verb goes to the front. */
static void move_verb(char **argv, int at)
{
    char *verb = argv[at];
    memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof *argv);
    argv[1] = verb;
}

static int refuse_option(const char *word)
{
    char message[240], *shown = text_printable(word, strcspn(word, "="), 60);
    snprintf(message, sizeof message,
             "there is no option %s for all commands; those of a command come after it: muster COMMAND [OPTION...]; "
             "see `muster help`",
             shown);
    free(shown);
    return refuse(message);
}

static int dispatch(int argc, char **argv)
{
    is_json = parse_wants_json(argc, argv);
    int at = parse_find_verb(argc, argv);
    int end = at < 0 ? -at + 1 : at;
    if (parse_has_word(end, argv, "--version"))
        return print_version();
    if (parse_has_word(end, argv, "--help") || parse_has_word(end, argv, "-h")) {
        help_overview(verbs_all);
        return EXIT_DONE;
    }
    if (at < 0)
        return refuse_option(argv[-at]);
    if (at >= argc)
        return refuse("a command is missing; see `muster help`");
    const struct command *command = verbs_find(argv[at]);
    if (!command)
        return verbs_refuse(argv[at], is_json);
    move_verb(argv, at);
    return run_command(command, argc - 1, argv + 1);
}

/* ---- the process ---- */

/* If a standard stream is closed, a file or connection that is opened later must not get its number, because output
 * would go there. /dev/null is opened in the wrong direction, so that the stream still fails like a closed one. */
static void hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Whoever started this process wants to hear of a closed pipe. */
static bool ignores_pipes;

/* A handler, because what this one starts does not inherit it. */
static void let_fail(int signo)
{
    (void)signo;
}

/* Writing to a closed pipe, or to a file that may not grow any more (ulimit -f), must fail instead of ending the process,
 * children must be waited for, and whoever ends it must be heard, whatever signal settings this process inherited. */
static void set_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    ignores_pipes = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
    if (signal(SIGXFSZ, let_fail) == SIG_IGN)
        signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

/* If the reader of a list has gone away, this ends as other programs do: quietly, by SIGPIPE, unless that is ignored or
 * something is to be said. */
static void die_of_pipe(int code)
{
    if (code != EXIT_DONE || out_error() != EPIPE || *out_but() || ignores_pipes)
        return;
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

static int check_output(int code)
{
    if (out_flush() == 0)
        return EXIT_DONE;
    die_of_pipe(code);
    const char *but = out_but(), *why = out_error() == ETIMEDOUT ? "nobody reads it" : strerror(out_error());
    char *message = NULL, *unread = out_unread();
    if (asprintf(&message, "cannot write standard output: %s%s%s%s%s", why, *but ? "; " : "", but,
                 unread ? "; it was still to read:\n" : "", unread ? unread : "") < 0)
        need(NULL);
    complain_alone(is_json, COMPLAIN_SYSTEM, message);
    free(message);
    free(unread);
    return EXIT_FAILED;
}

int main(int argc, char **argv)
{
    /* Lines of several processes must not mix. */
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    hold_standard_streams();
    set_signals();
    first_begin();
    int code = dispatch(argc, argv);
    int written = check_output(code);
    progress_die(code);
    return code ? code : written;
}
