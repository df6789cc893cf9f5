/* SPDX-License-Identifier: MIT
 *
 * muster-man DIR DATE: writes muster(1) and a manual page for each verb into DIR. It is built with the command's own
 * tables, run once by the build, and not installed.
 *
 * A paragraph of a table's text is filled, unless a line of it is indented: then it is laid out, and stays as it is.
 */
#include <ctype.h>
#include <muster/version.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "verbs.h"

static const char *dir, *date;
static FILE *page;

/* ---- words ---- */

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(page, format, args);
    va_end(args);
}

static void put_char(char c)
{
    static const struct {
        char c;
        const char *escape;
    } escapes[] = {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (escapes[i].c == c) {
            put("%s", escapes[i].escape);
            return;
        }
    fputc(c, page);
}

/* Literal text that does not begin a request. */
static void put_literal(const char *text, size_t len)
{
    if (len && *text == '.')
        put("\\&");
    for (size_t i = 0; i < len; i++)
        put_char(text[i]);
}

/* Prose: what stands in backquotes is bold. */
static void put_prose(const char *text, size_t len)
{
    bool is_code = false;
    if (len && *text == '.')
        put("\\&");
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '`') {
            put_char(text[i]);
        } else {
            is_code = !is_code;
            put("%s", is_code ? "\\fB" : "\\fR");
        }
    }
}

static void put_upper(const char *text)
{
    for (; *text; text++)
        put_char((char)toupper((unsigned char)*text));
}

static void put_lines(const char *text, size_t len, void (*put_line)(const char *, size_t))
{
    while (len) {
        size_t line = 0;
        while (line < len && text[line] != '\n')
            line++;
        put_line(text, line);
        put("\n");
        line += line < len;
        text += line;
        len -= line;
    }
}

static void put_paragraph(const char *text, size_t len)
{
    bool is_laid_out = *text == ' ' || memmem(text, len, "\n ", 2);
    put(".PP\n%s", is_laid_out ? ".EX\n" : "");
    put_lines(text, len, is_laid_out ? put_literal : put_prose);
    if (is_laid_out)
        put(".EE\n");
}

static void put_paragraphs(const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t len = end ? (size_t)(end - text) : strlen(text);
        if (len)
            put_paragraph(text, len);
        text += len;
        text += strspn(text, "\n");
    }
}

/* ---- parts of a page ---- */

static void open_page(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.1", dir, name);
    page = fopen(path, "w");
    if (!page) {
        perror(path);
        exit(1);
    }
    put(".\\\" Made from the tables of the command.\n.TH ");
    put_upper(name);
    put(" 1 \"%s\" \"muster %s\" \"muster\"\n.SH NAME\n", date, muster_version());
}

static void close_page(void)
{
    if (fclose(page) != 0) {
        perror(dir);
        exit(1);
    }
}

static void put_argument(const char *argument)
{
    put(" \\fI");
    put_literal(argument, strlen(argument));
    put("\\fR");
}

/* Lines of help are laid out for a terminal by leading spaces. */
static void put_help(const char *help)
{
    while (*help) {
        help += strspn(help, " ");
        size_t len = strcspn(help, "\n");
        put_prose(help, len);
        put("\n");
        help += len + (help[len] == '\n');
    }
}

static void put_option(const struct opt *o)
{
    put(".TP\n");
    if (o->letter)
        put("\\fB\\-%c\\fR%s", o->letter, o->name ? ", " : "");
    if (o->name) {
        put("\\fB\\-\\-");
        put_literal(o->name, strlen(o->name));
        put("\\fR");
    }
    if (o->argument)
        put_argument(o->argument);
    put("\n");
    put_help(o->help);
    if (o->fallback) {
        put("The default is \\fB");
        put_literal(o->fallback, strlen(o->fallback));
        put("\\fR.\n");
    }
    if (o->env)
        put("The variable \\fB%s\\fR stands for it.\n", o->env);
}

static void put_options(const char *title, const struct opt *o)
{
    if (!o->help)
        return;
    put(".SH ");
    put_upper(title);
    put("\n");
    for (; o->help; o++) {
        if (o->group)
            put(".SS %s\n", o->group);
        put_option(o);
    }
}

static void put_exits(void)
{
    put(".SH EXIT STATUS\n");
#define PUT_EXIT(name, number, text)  \
    put(".TP\n\\fB%d\\fR\n", number); \
    put_prose(text, strlen(text));    \
    put("\n");
    EXITS(PUT_EXIT)
#undef PUT_EXIT
    put(".PP\nWith several operands, it is the highest of their codes.\n");
}

/* ---- pages ---- */

static void write_verb(const struct command *c)
{
    char name[64];
    snprintf(name, sizeof name, "muster-%s", c->name);
    open_page(name);
    put_literal(name, strlen(name));
    put(" \\- ");
    put_prose(c->summary, strlen(c->summary));
    put("\n.SH SYNOPSIS\n\\fBmuster ");
    put_literal(c->name, strlen(c->name));
    put("\\fR [\\fIOPTION\\fR...]");
    if (*c->operands)
        put_argument(c->operands);
    put("\n.SH DESCRIPTION\n");
    put_prose(c->summary, strlen(c->summary));
    put(".\n");
    if (c->about)
        put_paragraphs(c->about);
    put_options("Options", c->options);
    put(".SH COMMON OPTIONS\nThe common options are those of\n.BR muster (1)%s.\n",
        c->has_no_connection ? ",\nwithout those of a connection" : "");
    put(".SH EXAMPLES\n.EX\n");
    put_lines(c->examples, strlen(c->examples), put_literal);
    put(".EE\n.SH SEE ALSO\n.BR muster (1),\nwhich has the common options and the exit status;\n"
        ".BR muster\\-keys (7)\n");
    close_page();
}

static void write_overview(void)
{
    open_page("muster");
    put("muster \\- a worker\\-registry task queue on Redis\n.SH SYNOPSIS\n"
        "\\fBmuster\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]\n.SH DESCRIPTION\n"
        "Programs and scripts put tasks into queues that lie in Redis, and workers run them. A worker registers under\n"
        "a key that expires; when it stops answering, its peers put its tasks back at the front of their queues.\n"
        ".SH COMMANDS\nEach has a page of its own,\n.BR muster\\-\\fICOMMAND\\fB (1),\n"
        "and tells the same by \\fBmuster help \\fICOMMAND\\fR.\n");
    for (size_t i = 0; verbs_all[i]; i++) {
        put(".TP\n\\fB");
        put_literal(verbs_all[i]->name, strlen(verbs_all[i]->name));
        put("\\fR\n");
        put_prose(verbs_all[i]->summary, strlen(verbs_all[i]->summary));
        put("\n");
    }
    put_options("Common options", opt_common);
    put(".PP\n");
    put_help(opt_common_about);
    put_exits();
    put(".SH ENVIRONMENT\nAn empty variable counts as none, and an option wins over its variable.\n");
    for (const struct opt *o = opt_common; o->help; o++)
        if (o->env)
            put(".TP\n\\fB%s\\fR\nstands for \\fB\\-\\-%s\\fR\n", o->env, o->name);
    put(".TP\n\\fBMUSTER_TRACE\\fR\nwhat the library traces on standard error, separated by commas: \\fBstate\\fR,\n"
        "\\fBscript\\fR, \\fBwake\\fR\n.SH SEE ALSO\n.BR libmuster (3),\n.BR muster\\-keys (7)\n");
    close_page();
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("Usage: muster-man DIR DATE\n", stderr);
        return 2;
    }
    dir = argv[1];
    date = argv[2];
    write_overview();
    for (size_t i = 0; verbs_all[i]; i++)
        write_verb(verbs_all[i]);
    return 0;
}
