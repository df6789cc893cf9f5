/* SPDX-License-Identifier: MIT
 *
 * The command `muster`: calls the verb, and checks that standard output could be written. Each verb has a
 * file of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <muster/version.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "help.h"
#include "out.h"
#include "parse.h"
#include "verbs.h"

/* ---- verbs ---- */

static int print_version(void)
{
    out_text("muster %s\n", muster_version());
    return EXIT_DONE;
}

/* Something was done that does not show, if standard output cannot be written. */
static bool has_changed;

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
        code = command->run(&call), has_changed = command->changes && code == EXIT_DONE;
    parse_clear(&call);
    return code;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        fputs("muster: a command is missing; see `muster help`\n", stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0)
        return print_version();
    if (strcmp(argv[1], "--help") == 0) {
        help_overview(verbs_all);
        return EXIT_DONE;
    }
    if (argv[1][0] == '-') {
        fputs("muster: options come after the command: muster COMMAND [OPTION...]; see `muster help`\n", stderr);
        return EXIT_USAGE;
    }
    const struct command *command = verbs_find(argv[1]);
    return command ? run_command(command, argc - 1, argv + 1) : EXIT_USAGE;
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

/* Writing to a closed pipe must fail instead of ending the process, and children must be waited for, whatever signal
 * settings this process inherited. */
static void set_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

/* If the reader of a list has gone away (EPIPE), nobody needs a message; any other failure gets a line. */
static int check_output(void)
{
    if (out_flush() == 0)
        return EXIT_DONE;
    if (out_error() != EPIPE || has_changed)
        fprintf(stderr, "muster: cannot write standard output: %s%s\n", strerror(out_error()),
                has_changed ? "; what was asked for is done" : "");
    return EXIT_FAILED;
}

int main(int argc, char **argv)
{
    /* Lines of several processes must not mix. */
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    hold_standard_streams();
    set_signals();
    int code = dispatch(argc, argv);
    int written = check_output();
    return code ? code : written;
}
