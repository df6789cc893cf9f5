/* SPDX-License-Identifier: MIT
 *
 * Parses a command line with getopt_long and checks each value where it is read, so that a wrong one is found before
 * anything is connected to. The verb decides what its options mean together.
 */
#include "parse.h"

#include <getopt.h>
#include <inttypes.h>
#include <muster/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "need.h"
#include "similar.h"
#include "text.h"

/* How much of a wrong operand a message repeats. */
#define OPERAND_COLUMNS 60

/* ---- values ---- */

static int set_number(const struct call *call, const struct opt *o, struct opt_value *v, const char *label,
                      const char *text)
{
    static const char *const wanted[] = {
        [OPT_COUNT] = "a number of 0 or more",
        [OPT_INTEGER] = "a number",
        [OPT_DURATION] = "a duration: a number and a unit, as in 500ms, 3s, 5m, 2h, 7d",
    };
    const char *end = text;
    if (o->kind == OPT_INTEGER && *text == '-')
        end++;
    bool is_good = o->kind == OPT_DURATION ? text_read_span(&end, &v->number) : text_read_number(&end, &v->number);
    if (!is_good || *end)
        return complain_usage(call, "%s: '%s' is not %s", label, text, wanted[o->kind]);
    if (*text == '-')
        v->number = -v->number;
    if (v->number >= o->min && v->number <= o->max)
        return 0;
    if (o->kind != OPT_DURATION)
        return complain_usage(call, "%s: %s is not from %" PRId64 " to %" PRId64, label, text, o->min, o->max);
    char min[TEXT_SPAN_SIZE], max[TEXT_SPAN_SIZE];
    return complain_usage(call, "%s: %s is not from %s to %s", label, text, text_span(min, o->min),
                          text_span(max, o->max));
}

static void add_text(struct opt_value *v, const char *text)
{
    v->texts = need(reallocarray(v->texts, v->n_texts + 1, sizeof *v->texts));
    v->texts[v->n_texts++] = text;
}

/* Only the environment gives a flag a value. */
static int set_flag(const struct call *call, struct opt_value *v, const char *label, const char *text)
{
    v->set = strcmp(text, "1") == 0;
    return v->set || strcmp(text, "0") == 0 ? 0 : complain_usage(call, "%s: it must be 1 or 0", label);
}

/* `label` is the name that a message gives to the source of the text. A message does not repeat the text of a string,
 * because it may be a URL with a password. */
static int set_value(const struct call *call, const struct opt *o, struct opt_value *v, const char *label,
                     const char *text)
{
    if (o->kind == OPT_FLAG)
        return set_flag(call, v, label, text);
    v->text = text;
    if (o->kind == OPT_COUNT || o->kind == OPT_INTEGER || o->kind == OPT_DURATION)
        return set_number(call, o, v, label, text);
    if (o->kind == OPT_LIST)
        add_text(v, text);
    const char *why = o->check ? o->check(text) : NULL;
    return why ? complain_usage(call, "%s: %s", label, why) : 0;
}

static int set_fallbacks(const struct call *call, const struct opt *table, struct opt_value *values)
{
    int err = 0;
    for (; table->help && !err; table++, values++)
        if (table->fallback)
            err = set_value(call, table, values, "fallback", table->fallback);
    return err;
}

static int set_from_environment(const struct call *call, const struct opt *table, struct opt_value *values)
{
    int err = 0;
    for (; table->help && !err; table++, values++) {
        const char *text = table->env && !values->set ? getenv(table->env) : NULL;
        if (text && *text) {
            *values = (struct opt_value){.set = true, .from_environment = true};
            err = set_value(call, table, values, table->env, text);
        }
    }
    return err;
}

/* ---- the command line ---- */

/* The numbers that getopt_long gets for options with names: above all letters, the verb's own options first. */
#define NAMED 256

struct scanner {
    struct call *call;
    struct option names[2 * OPT_LIMIT];
    size_t n_names;
    char letters[4 * OPT_LIMIT];
    size_t n_letters;
};

static void add_table(struct scanner *s, const struct opt *table, int number)
{
    for (; table->help; table++, number++) {
        bool has_argument = table->kind != OPT_FLAG;
        if (table->name)
            s->names[s->n_names++] =
                (struct option){table->name, has_argument ? required_argument : no_argument, NULL, number};
        if (table->letter)
            s->letters[s->n_letters++] = table->letter;
        if (table->letter && has_argument)
            s->letters[s->n_letters++] = ':';
    }
}

/* The option that getopt_long's answer means, a letter or a number; NULL if there is none. */
static const struct opt *find(struct call *call, int code, struct opt_value **value)
{
    *value = NULL;
    if (code >= NAMED + OPT_LIMIT) {
        *value = &call->common[code - NAMED - OPT_LIMIT];
        return &opt_common[code - NAMED - OPT_LIMIT];
    }
    for (int i = 0; opt_common[i].help; i++)
        if (code && opt_common[i].letter == code) {
            *value = &call->common[i];
            return &opt_common[i];
        }
    for (int i = 0; call->command->options[i].help; i++)
        if (code == NAMED + i || (code && call->command->options[i].letter == code)) {
            *value = &call->own[i];
            return &call->command->options[i];
        }
    return NULL;
}

/* getopt_long accepts the beginning of a name, too, but does not tell an ambiguous beginning from an unknown name. */
static bool is_beginning(const struct scanner *s, const char *word)
{
    size_t len = strcspn(word, "=");
    for (size_t i = 0; i < s->n_names; i++)
        if (len > 2 && strncmp(s->names[i].name, word + 2, len - 2) == 0)
            return true;
    return false;
}

/* An option that nobody knows, and the one that was perhaps meant. */
static int complain_name(const struct scanner *s, const char *word)
{
    const char *names[2 * OPT_LIMIT], *meant;
    size_t len = strcspn(word, "=");
    for (size_t i = 0; i < s->n_names; i++)
        names[i] = s->names[i].name;
    char *given = need(strndup(word, len)), *shown = text_safe(word, len);
    meant = is_beginning(s, word) ? NULL : similar_find(given + strspn(given, "-"), names, s->n_names);
    int code = complain_usage(s->call, "%s option %s%s%s", is_beginning(s, word) ? "ambiguous" : "unknown", shown,
                              meant ? ", maybe --" : "", meant ? meant : "");
    free(shown);
    free(given);
    return code;
}

static int scan_error(const struct scanner *s, int code, const char *word)
{
    char label[OPT_LABEL_SIZE];
    struct opt_value *value;
    const struct opt *o = find(s->call, optopt, &value);
    if (o && code == ':')
        return complain_usage(s->call, "%s needs %s", opt_label(label, o, value), o->argument);
    if (o)
        return complain_usage(s->call, "%s takes no value", opt_label(label, o, value));
    if (optopt)
        return complain_usage(s->call, "unknown option -%c", optopt);
    return complain_name(s, word);
}

static int take_option(struct call *call, int code)
{
    char label[OPT_LABEL_SIZE];
    struct opt_value *value;
    const struct opt *o = find(call, code, &value);
    /* Of the common ones the last one counts, because scripts and aliases bring some of them along. */
    const bool is_own = value >= call->own && value < call->own + OPT_LIMIT;
    if (value->set && is_own && o->argument && o->kind != OPT_LIST)
        return complain_usage(call, "%s is given more than once", opt_label(label, o, value));
    value->set = true;
    return o->kind == OPT_FLAG ? 0 : set_value(call, o, value, opt_label(label, o, value), optarg);
}

/*
 * Operands and options may come in any order. With a leading '-' in the letters, getopt_long returns operands as they
 * come: so it stops at the first `--`, and POSIXLY_CORRECT changes nothing.
 */
static int scan(struct scanner *s, int argc, char **argv)
{
    struct call *call = s->call;
    const char *last_argument = NULL;
    int code, err = 0;
    call->operands = argv + 1;
    while (!err && (code = getopt_long(argc, argv, s->letters, s->names, NULL)) != -1) {
        if (code == 1) {
            call->operands[call->n_operands++] = optarg;
        } else if (code == '?' || code == ':') {
            err = scan_error(s, code, argv[optind - 1]);
        } else {
            last_argument = optarg;
            err = take_option(call, code);
        }
    }
    if (err)
        return err;
    bool is_separated = strcmp(argv[optind - 1], "--") == 0 && argv[optind - 1] != last_argument;
    if (is_separated && call->command->takes_command)
        call->rest = argv + optind;
    for (; !call->rest && optind < argc; optind++)
        call->operands[call->n_operands++] = argv[optind];
    return 0;
}

int parse_check_operands(const struct call *call, size_t first, size_t n, const char *what,
                         const char *(*check)(const char *text))
{
    for (size_t i = first; i < call->n_operands && i - first < n; i++) {
        const char *why = check(call->operands[i]);
        if (!why)
            continue;
        char *shown = text_printable(call->operands[i], strlen(call->operands[i]), OPERAND_COLUMNS);
        int code = complain_usage(call, "%s '%s': %s", what, shown, why);
        free(shown);
        return code;
    }
    return 0;
}

static int check_operands(const struct call *call)
{
    const struct command *command = call->command;
    if (call->n_operands < command->min_operands)
        return complain_usage(call, "%.*s is missing", (int)strcspn(command->operands, " ."), command->operands);
    if (call->n_operands > command->max_operands)
        return complain_usage(call, "'%s' is one word too many", call->operands[command->max_operands]);
    if (call->rest && !call->rest[0])
        return complain_usage(call, "there is no command after --");
    return parse_check_operands(call, 0, command->n_queues, "QUEUE", muster_queue_check);
}

bool parse_has_word(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

bool parse_wants_json(int argc, char **argv)
{
    const char *wish = getenv(opt_common[OPT_JSON].env);
    return parse_has_word(argc, argv, "--json") || (wish && strcmp(wish, "1") == 0);
}

/* The common option that the word names, or begins to name as only one does; NULL: there is none. */
static const struct opt *find_common(const char *word)
{
    const struct opt *found = NULL;
    size_t len = strcspn(word, "=");
    if (word[0] != '-' || word[1] != '-')
        return NULL;
    for (const struct opt *o = opt_common; o->help; o++) {
        if (len < 3 || strncmp(o->name, word + 2, len - 2) != 0)
            continue;
        if (strlen(o->name) == len - 2)
            return o;
        if (found)
            return NULL;
        found = o;
    }
    return found;
}

int parse_find_verb(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0')
            return i;
        const struct opt *o = find_common(argv[i]);
        if (!o)
            return -i;
        if (o->kind != OPT_FLAG && !strchr(argv[i], '='))
            i++;
    }
    return argc;
}

int parse_words(struct call *call, int argc, char **argv)
{
    struct scanner s = {.call = call, .letters = "-:", .n_letters = 2};
    call->wants_json = parse_wants_json(argc, argv);
    add_table(&s, call->command->options, NAMED);
    add_table(&s, opt_common, NAMED + OPT_LIMIT);
    int err = set_fallbacks(call, call->command->options, call->own);
    if (!err)
        err = set_fallbacks(call, opt_common, call->common);
    if (!err)
        err = scan(&s, argc, argv);
    if (err || call->common[OPT_HELP].set || call->common[OPT_VERSION].set)
        return err;
    err = set_from_environment(call, opt_common, call->common);
    if (!err)
        err = set_from_environment(call, call->command->options, call->own);
    return err ? err : check_operands(call);
}

static int take_value(struct call *call, const struct parse_value *value)
{
    char label[OPT_LABEL_SIZE];
    const struct opt *o = opt_find(call->command->options, value->name);
    if (!o)
        return complain_usage(call, "unknown option --%s", value->name);
    struct opt_value *v = &call->own[o - call->command->options];
    if (v->set && o->kind != OPT_LIST)
        return complain_usage(call, "--%s is given more than once", value->name);
    v->set = true;
    return o->kind == OPT_FLAG ? 0 : set_value(call, o, v, opt_label(label, o, v), value->text);
}

int parse_values(struct call *call, const struct call *like, const struct parse_value *values, size_t n)
{
    memcpy(call->common, like->common, sizeof call->common);
    call->common[OPT_JSON] = (struct opt_value){.set = true};
    int err = set_fallbacks(call, call->command->options, call->own);
    for (size_t i = 0; i < n && !err; i++)
        err = take_value(call, &values[i]);
    return err ? err : check_operands(call);
}

void parse_clear(struct call *call)
{
    for (size_t i = 0; i < OPT_LIMIT; i++)
        free(call->own[i].texts);
}
