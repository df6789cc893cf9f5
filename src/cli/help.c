/* SPDX-License-Identifier: MIT
 *
 * Lays out help. It knows no verb and no option: all that it prints is in their tables.
 */
#include "help.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "out.h"

#define LABEL_SIZE OPT_LABEL_SIZE
#define LABEL_WIDTH 24

static void print_option(const struct opt *o)
{
    char label[LABEL_SIZE] = "    ";
    size_t len = 4;
    if (o->letter)
        len = (size_t)snprintf(label, sizeof label, "-%c%s", o->letter, o->name ? ", " : "");
    if (o->name)
        len += (size_t)snprintf(label + len, sizeof label - len, "--%s", o->name);
    if (o->argument)
        snprintf(label + len, sizeof label - len, " %s", o->argument);
    out_text("  %-*s", LABEL_WIDTH, label);
    if (strlen(label) > LABEL_WIDTH)
        out_text("\n  %-*s", LABEL_WIDTH, "");
    out_text(" %s", o->help);
    if (strchr(o->help, '\n') && (o->fallback || o->env))
        out_text("\n  %-*s", LABEL_WIDTH, "");
    if (o->fallback)
        out_text(" (default %s)", o->fallback);
    if (o->env)
        out_text(" [%s]", o->env);
    out_text("\n");
}

/* With all groups, or only what comes before the first of them. */
static void print_options(const char *title, const struct opt *o, bool with_groups)
{
    if (!o->help)
        return;
    out_text("\n%s:\n", title);
    for (; o->help && (with_groups || !o->group); o++) {
        if (o->group)
            out_text("\n%s:\n", o->group);
        print_option(o);
    }
}

/* Each line of the text, indented. */
static void print_lines(const char *title, const char *text)
{
    out_text("\n%s:\n", title);
    for (size_t len; *text; text += len) {
        len = strcspn(text, "\n") + 1;
        out_text("  %.*s", (int)len, text);
    }
}

void help_command(const struct command *command)
{
    out_text("Usage: muster %s [OPTION...]%s%s\n\n%s.\n", command->name, *command->operands ? " " : "",
             command->operands, command->summary);
    if (command->about)
        out_text("\n%s", command->about);
    print_options("Options", command->options, true);
    print_options("Common options", opt_common, !command->has_no_connection);
    if (!command->has_no_connection)
        out_text("%s", opt_common_about);
    print_lines("Examples", command->examples);
}

void help_overview(const struct command *const *commands)
{
    out_text("Usage: muster COMMAND [OPTION...] [OPERAND...]\n\nA worker-registry task queue on Redis.\n\nCommands:\n");
    for (; *commands; commands++)
        out_text("  %-*s %s\n", LABEL_WIDTH, (*commands)->name, (*commands)->summary);
    print_options("Common options", opt_common, true);
    out_text("%s", opt_common_about);
    out_text("\nExit codes:\n");
#define EXIT_LINE(name, number, text) out_text("  %-*d %s\n", LABEL_WIDTH, number, text);
    EXITS(EXIT_LINE)
#undef EXIT_LINE
    out_text("  With several operands, the highest of their codes. SIGPIPE (141) ends what is printed to a pipe that "
             "nobody\n"
             "  reads, if that is all that the command does.\n");
    out_text("\n`muster help COMMAND` tells more about one command.\n");
}
