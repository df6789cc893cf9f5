/* SPDX-License-Identifier: MIT
 *
 * Follows a command line through the tables of verbs and options, up to its last word. What can stand there is told by
 * the word that help puts there: QUEUE, FILE. An option that is not known is passed over: the line is not finished.
 */
#include "candidates.h"

#include <muster/job.h>
#include <stdio.h>
#include <string.h>

#include "candidate_names.h"
#include "out.h"
#include "verbs.h"

#define WORD_SIZE 64

/*
 * Where the last word stands.
 *
 *   awaiting    the option whose argument it is; NULL: none
 *   operands    the words that help has for the operands, by the options so far
 *   n_operands  how many operands come before it
 *   operand     the last one of these
 *   n_rest      how many words come between `--` and it; -1: there was no `--`
 *   call        as it would be called: the verb, and the common options so far
 */
struct place {
    struct call call;
    const struct opt *awaiting;
    const char *operands;
    size_t n_operands;
    const char *operand;
    int n_rest;
    const char *word, *beginning; /* the last word; what of it stays, as `--queue=` */
};

static void print_candidate(const struct place *p, const char *text, const char *about)
{
    if (strncmp(text, p->word, strlen(p->word)) == 0)
        out_text("%s%s\t%.*s\n", p->beginning, text, (int)strcspn(about, "\n"), about);
}

static void print_shells_own(const char *what)
{
    out_text("\t%s\n", what);
}

/* ---- to the place ---- */

static const struct opt *find_in(const struct opt *table, const char *word, size_t len)
{
    for (; table->help; table++) {
        bool is_letter = len == 2 && word[1] != '-' && table->letter == word[1];
        bool is_name = table->name && len > 2 && strlen(table->name) == len - 2 && word[1] == '-' &&
                       strncmp(table->name, word + 2, len - 2) == 0;
        if (is_letter || is_name)
            return table;
    }
    return NULL;
}

static const struct opt *find_option(const struct place *p, const char *word)
{
    size_t len = strcspn(word, "=");
    const struct opt *o = p->call.command ? find_in(p->call.command->options, word, len) : NULL;
    return o ? o : find_in(opt_common, word, len);
}

static void set_common(struct place *p, const struct opt *o, const char *text)
{
    for (size_t i = 0; opt_common[i].help; i++)
        if (o == &opt_common[i]) {
            p->call.common[i].set = true;
            p->call.common[i].text = text;
        }
}

/* With `--process`, "QUEUE TASK... | --process PROCESS..." is "PROCESS...". */
static void choose_operands(struct place *p, const char *flag)
{
    char words[WORD_SIZE];
    snprintf(words, sizeof words, "| --%s ", flag);
    const char *at = strstr(p->operands, words);
    if (at)
        p->operands = at + strlen(words);
}

static void pass_option(struct place *p, const char *word)
{
    const struct opt *o = find_option(p, word);
    const char *value = strchr(word, '=');
    if (!o)
        return;
    if (o->kind == OPT_FLAG && o->name && p->operands)
        choose_operands(p, o->name);
    if (o->kind == OPT_FLAG || value)
        set_common(p, o, value ? value + 1 : NULL);
    else
        p->awaiting = o;
}

/* Returns false if the line cannot be followed. */
static bool pass_word(struct place *p, const char *word)
{
    if (p->n_rest >= 0) {
        p->n_rest++;
    } else if (p->awaiting) {
        set_common(p, p->awaiting, word);
        p->awaiting = NULL;
    } else if (strcmp(word, "--") == 0) {
        p->n_rest = 0;
    } else if (word[0] == '-' && word[1]) {
        pass_option(p, word);
    } else if (p->call.command) {
        p->n_operands++;
        p->operand = word;
    } else {
        p->call.command = verbs_find(word);
        p->operands = p->call.command ? p->call.command->operands : NULL;
        return p->call.command;
    }
    return true;
}

/* ---- what can stand there ---- */

/* The word that help has for the nth operand, without brackets and dots; "" if there is none. The last one may be
 * repeated. */
static void find_operand(const char *spec, size_t n, char out[WORD_SIZE])
{
    out[0] = '\0';
    for (;;) {
        spec += strspn(spec, " [{");
        size_t len = strcspn(spec, " [{|]}.=");
        if (len == 0 || *spec == '-')
            return;
        bool is_repeated = strncmp(spec + len, "...", 3) == 0;
        if (n == 0 || is_repeated) {
            snprintf(out, WORD_SIZE, "%.*s", (int)len, spec);
            return;
        }
        n--;
        spec += len + strspn(spec + len, "]}.");
    }
}

static void print_verbs(const struct place *p)
{
    for (size_t i = 0; verbs_all[i]; i++)
        print_candidate(p, verbs_all[i]->name, verbs_all[i]->summary);
}

static void print_settings(const struct place *p)
{
#define PRINT_SETTING(name, fallback, min, max, of_all, text) print_candidate(p, #name, text);
    MUSTER_SETTINGS(PRINT_SETTING)
#undef PRINT_SETTING
}

static void print_shells(const struct place *p)
{
    static const char *const shells[] = {"bash", "fish", "zsh"};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        print_candidate(p, shells[i], "its completion");
}

static void print_states(const struct place *p)
{
#define PRINT_STATE(state, name) print_candidate(p, name, "jobs in this state");
    MUSTER_JOB_STATES(PRINT_STATE)
#undef PRINT_STATE
}

static void print_live(const struct place *p, enum candidate_names names)
{
    candidate_names_print(&p->call, names, p->beginning, p->word);
}

/* `what` is the word that help has for it. */
static void print_values(const struct place *p, const char *what)
{
    if (strcmp(what, "QUEUE") == 0)
        print_live(p, CANDIDATE_QUEUES);
    else if (strcmp(what, "WORKER") == 0)
        print_live(p, CANDIDATE_WORKERS);
    else if (strcmp(what, "TAG") == 0)
        print_live(p, CANDIDATE_TAGS);
    else if (strcmp(what, "PROCESS") == 0)
        print_live(p, CANDIDATE_PROCESSES);
    else if (strcmp(what, "GROUP") == 0)
        print_live(p, CANDIDATE_GROUPS);
    else if (strcmp(what, "ID") == 0)
        print_live(p, CANDIDATE_JOBS);
    else if (strcmp(what, "STATE") == 0)
        print_states(p);
    else if (strcmp(what, "COMMAND") == 0)
        print_verbs(p);
    else if (strcmp(what, "SHELL") == 0)
        print_shells(p);
    else if (strcmp(what, "FILE") == 0 || strcmp(what, "DIR") == 0 || strcmp(what, "PATH") == 0)
        print_shells_own("file");
}

/* An operand NAME is a setting; that of an option may be of anything. */
static void print_nth_operand(const struct place *p, size_t n)
{
    char what[WORD_SIZE];
    find_operand(p->operands, n, what);
    if (strcmp(what, "NAME") == 0)
        print_settings(p);
    else
        print_values(p, what);
}

/* `-TAG` removes a tag: the sign stays. */
static void print_with_sign(struct place *p, const char *what)
{
    static char signs[] = "+\0-";
    if (*p->word != '+' && *p->word != '-')
        return;
    p->beginning = *p->word == '+' ? signs : signs + 2;
    p->word++;
    print_values(p, what);
}

/* Other ids are new ones. */
static bool is_of_job(const struct opt *o)
{
    return o->name && strncmp(o->name, "after", strlen("after")) == 0;
}

/* An id alone shows the batch; one to open is new. */
static void print_of_batch(const struct place *p)
{
    static const char *const words[] = {"open", "close", "cancel"};
    if (p->n_operands == 0)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            print_candidate(p, words[i], "a batch");
    if (p->n_operands == 0 || strcmp(p->operand, "close") == 0 || strcmp(p->operand, "cancel") == 0)
        print_live(p, CANDIDATE_BATCHES);
}

static void print_argument(struct place *p, const struct opt *o)
{
    if (o->name && strcmp(o->name, "worker") == 0)
        print_values(p, "WORKER");
    else if (o->name && strcmp(o->name, "batch") == 0)
        print_live(p, CANDIDATE_BATCHES);
    else if (strcmp(o->argument, "+TAG|-TAG|TAG") == 0)
        print_with_sign(p, "TAG");
    else if (strcmp(o->argument, "+ID|-ID") == 0)
        print_with_sign(p, "ID");
    else if (strcmp(o->argument, "ID") != 0 || is_of_job(o))
        print_values(p, o->argument);
}

static void print_table(const struct place *p, const struct opt *o, bool with_groups)
{
    char word[WORD_SIZE];
    for (; o->help && (with_groups || !o->group); o++) {
        if (o->name)
            snprintf(word, sizeof word, "--%s", o->name);
        else
            snprintf(word, sizeof word, "-%c", o->letter);
        print_candidate(p, word, o->help);
    }
}

static void print_options(const struct place *p)
{
    const struct command *command = p->call.command;
    if (command)
        print_table(p, command->options, true);
    print_table(p, opt_common, !command || !command->has_no_connection);
}

/* After `--opt=`, only what comes then is to be completed. */
static void print_after_equals(struct place *p, const char *equals)
{
    static char beginning[WORD_SIZE];
    const struct opt *o = find_option(p, p->word);
    if (!o || o->kind == OPT_FLAG || equals - p->word + 1 >= WORD_SIZE)
        return;
    snprintf(beginning, sizeof beginning, "%.*s=", (int)(equals - p->word), p->word);
    p->beginning = beginning;
    p->word = equals + 1;
    print_argument(p, o);
}

static void print_rest(struct place *p)
{
    if (p->call.command && p->call.command->takes_command)
        print_shells_own(p->n_rest == 0 ? "command" : "file");
    else if (p->call.command)
        print_nth_operand(p, p->n_operands + (size_t)p->n_rest);
}

static void print_operand(struct place *p)
{
    if (!p->call.command)
        print_verbs(p);
    else if (strcmp(p->call.command->name, "batch") == 0)
        print_of_batch(p);
    else if (p->n_operands < p->call.command->max_operands)
        print_nth_operand(p, p->n_operands);
}

void candidates_print(const struct call *call, char **words)
{
    struct place p = {.call = *call, .n_rest = -1, .beginning = ""};
    p.call.command = NULL;
    for (; words[1]; words++)
        if (!pass_word(&p, *words))
            return;
    p.word = *words;
    const char *equals = strncmp(p.word, "--", 2) == 0 ? strchr(p.word, '=') : NULL;
    if (p.n_rest >= 0)
        print_rest(&p);
    else if (p.awaiting)
        print_argument(&p, p.awaiting);
    else if (equals)
        print_after_equals(&p, equals);
    else if (*p.word == '-')
        print_options(&p);
    else
        print_operand(&p);
}
