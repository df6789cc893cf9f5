/* SPDX-License-Identifier: MIT
 *
 * muster config: the settings of the namespace or of a queue. One call may print some settings and set others; all
 * values are checked before anything is set.
 */
#include <inttypes.h>
#include <muster/job.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "complain.h"
#include "each.h"
#include "known.h"
#include "list.h"
#include "need.h"
#include "out.h"
#include "similar.h"
#include "text.h"

enum { QUEUE, UNSET };

static const struct out_column columns[] = {
    {"NAME", "name", OUT_TEXT},     {"VALUE", "value", OUT_INTEGER}, {"FROM", "from", OUT_TEXT},
    {NULL, "default", OUT_INTEGER}, {NULL, "least", OUT_INTEGER},    {NULL, "most", OUT_INTEGER},
    {"WHAT", "what", OUT_TEXT},     {NULL, NULL, OUT_TEXT},
};

static int print_setting(const struct muster_setting *setting, void *arg)
{
    const struct out_cell cells[] = {
        {.text = setting->name},    {.number = setting->value}, {.text = setting->from}, {.number = setting->fallback},
        {.number = setting->least}, {.number = setting->most},  {.text = setting->what},
    };
    return out_row(arg, cells);
}

static int list(const struct call *call, struct muster_client *client, struct out_table *table)
{
    const char *queue = call->own[QUEUE].text;
    if (queue)
        (void)known_look(call, client, queue, " yet");
    return muster_config_get(client, queue, NULL, print_setting, table);
}

/* ---- one setting ---- */

static int print_value(const struct muster_setting *setting, void *arg)
{
    (void)arg;
    return out_text("%" PRId64 "\n", setting->value);
}

/* How long a setting's name is, in NAME or NAME=VALUE. */
static size_t name_len(const char *operand)
{
    return strcspn(operand, "=");
}

static bool is_named(const char *operand, const char *name)
{
    return name_len(operand) == strlen(name) && strncmp(operand, name, strlen(name)) == 0;
}

static bool is_in_ms(const char *operand)
{
    size_t len = name_len(operand);
    return len > 3 && strncmp(operand + len - 3, "_ms", 3) == 0;
}

/* The words for values of the setting `share`, by value. */
static const char *const share_words[] = {"none", "even"};

static bool read_word(const char *operand, int64_t *value)
{
    if (!is_named(operand, "share"))
        return false;
    for (size_t i = 0; i < sizeof share_words / sizeof *share_words; i++)
        if (strcmp(operand + name_len(operand) + 1, share_words[i]) == 0) {
            *value = (int64_t)i;
            return true;
        }
    return false;
}

/* A number, for a setting in ms also a duration with a unit, or one of the setting's words. */
static bool read_value(const char *operand, int64_t *value)
{
    const char *text = operand + name_len(operand) + 1, *end = text;
    if (read_word(operand, value))
        return true;
    if (text_read_number(&end, value) && !*end)
        return true;
    end = text;
    return is_in_ms(operand) && text_read_span(&end, value) && !*end;
}

/* rate=NUMBER/TIME is two settings: how many, and in which time. */
static bool read_rate(const char *operand, int64_t *count, int64_t *ms)
{
    const char *text = operand + name_len(operand);
    return is_named(operand, "rate") && *text++ == '=' && text_read_number(&text, count) && *text++ == '/' &&
           text_read_span(&text, ms) && !*text;
}

/* The time goes first: between the two calls there is the old number in the new time, and none where there was none. */
static int set_rate(struct muster_client *client, const char *queue, int64_t count, int64_t ms)
{
    int err = muster_config_set(client, queue, "rate_ms", &ms);
    return err == MUSTER_OK ? muster_config_set(client, queue, "rate", &count) : err;
}

/* Sets, unsets or prints one setting. */
static int run_operand(const struct call *call, struct muster_client *client, const char *operand, void *arg)
{
    (void)arg;
    const char *queue = call->own[QUEUE].text;
    struct out_table table = {.columns = columns, .json = true};
    bool is_json = call->common[OPT_JSON].set;
    int err;
    char *name = need(strndup(operand, name_len(operand)));
    int64_t value, ms;
    if (read_rate(operand, &value, &ms))
        err = each_print(call, "name", name, "set", set_rate(client, queue, value, ms));
    else if (operand[name_len(operand)] == '=' && read_value(operand, &value))
        err = each_print(call, "name", name, "set", muster_config_set(client, queue, name, &value));
    else if (call->own[UNSET].set)
        err = each_print(call, "name", name, "unset", muster_config_set(client, queue, name, NULL));
    else
        err = muster_config_get(client, queue, name, is_json ? print_setting : print_value, &table);
    free(name);
    return err;
}

/* The first one also looks whether there is such a queue: its settings can be set beforehand. */
static int run_of_queue(const struct call *call, struct muster_client *client, const char *operand, void *arg)
{
    if (operand == call->operands[0])
        (void)known_look(call, client, call->own[QUEUE].text, " yet");
    return run_operand(call, client, operand, arg);
}

static const char *const names[] = {
#define NAME(name, fallback, least, most, of_queue, what) #name,
    MUSTER_SETTINGS(NAME)
#undef NAME
};
#define SETTINGS (sizeof names / sizeof *names)

/* SETTINGS: there is no such setting. */
static size_t find_setting(const char *operand)
{
    size_t i = 0;
    while (i < SETTINGS && (strlen(names[i]) != name_len(operand) || memcmp(names[i], operand, name_len(operand)) != 0))
        i++;
    return i;
}

static int complain_unknown(const struct call *call, const char *operand)
{
    char *name = need(strndup(operand, name_len(operand))), *shown = text_printable(name, strlen(name), 60);
    const char *meant = similar_find(name, names, SETTINGS);
    complain_refusal(call, muster_err_name(MUSTER_E_NOT_FOUND), "there is no setting '%s'%s%s%s", shown,
                     meant ? "; did you mean '" : "; `muster config` lists them", meant ? meant : "",
                     meant ? "'?" : "");
    free(shown);
    free(name);
    return EXIT_NOT_FOUND;
}

/* What the library refuses is refused before anything is set. */
static const struct {
    int64_t least, most;
    bool of_queue;
} settings[] = {
#define SETTING(name, fallback, least, most, of_queue, what) {least, most, of_queue},
    MUSTER_SETTINGS(SETTING)
#undef SETTING
};

static bool is_in_range(const char *name, int64_t value)
{
    const size_t i = find_setting(name);
    return value >= settings[i].least && value <= settings[i].most;
}

static bool is_good_value(const char *operand)
{
    int64_t value, ms;
    if (read_rate(operand, &value, &ms))
        return is_in_range("rate", value) && is_in_range("rate_ms", ms);
    return read_value(operand, &value) && is_in_range(operand, value);
}

static const char *hint_of(const char *operand)
{
    if (is_in_ms(operand))
        return ", in ms or with a unit, as in 500ms, 3s, 5m, 2h, 7d";
    if (is_named(operand, "share"))
        return " or its word: none, even";
    return is_named(operand, "rate") ? ", or that in a time of up to 366 days, as in 100/1m" : "";
}

static int check_operand(const struct call *call, const char *operand)
{
    const size_t i = find_setting(operand);
    bool has_value = operand[name_len(operand)] == '=';
    if (call->own[UNSET].set && has_value)
        return complain_usage(call, "--unset takes the NAME of a setting, without a value");
    if (i == SETTINGS)
        return complain_unknown(call, operand);
    if (settings[i].of_queue && !call->own[QUEUE].text)
        return complain_usage(call, "%s is a setting of a queue: name one with --queue", names[i]);
    if (!has_value || is_good_value(operand))
        return EXIT_DONE;
    char *shown = text_printable(operand, strlen(operand), 60);
    int code = complain_usage(call, "%s: the value is not a number from %" PRId64 " to %" PRId64 "%s", shown,
                              settings[i].least, settings[i].most, hint_of(operand));
    free(shown);
    return code;
}

/* ---- the verb ---- */

static const struct opt options[] = {
    [QUEUE] = {.name = "queue",
               .kind = OPT_STRING,
               .argument = "QUEUE",
               .help = "settings of this queue (default: of the namespace, for queues without a value of their own)",
               .check = muster_queue_check},
    [UNSET] = {.name = "unset", .help = "unset each NAME; then the namespace's value or the default holds again"},
    {.help = NULL},
};

static int run_operands(const struct call *call)
{
    bool changes = call->own[UNSET].set;
    for (size_t i = 0; i < call->n_operands; i++) {
        int code = check_operand(call, call->operands[i]);
        if (code)
            return code;
        changes |= call->operands[i][name_len(call->operands[i])] == '=';
    }
    int code = each_operand(call, 0, call->own[QUEUE].text ? run_of_queue : run_operand, NULL);
    if (!code && changes)
        out_set_done();
    return code;
}

static int run(const struct call *call)
{
    if (call->n_operands > 0)
        return run_operands(call);
    if (call->own[UNSET].set)
        return complain_usage(call, "--unset: NAME is missing");
    return list_print(call, columns, list);
}

const struct command cmd_config = {
    .name = "config",
    .operands = "[NAME[=VALUE]...]",
    .summary = "Show, set and unset settings of the namespace or of a queue",
    .about =
        "Without a NAME all settings are listed, with the values that hold and where these come from. A queue's own\n"
        "value comes first, then the namespace's, then the default. A change takes effect with the next call of\n"
        "any client or worker. If a NAME does not exist, the exit code is 3; if a VALUE is not allowed, it is 2.\n"
        "\n"
        "rate=100/1m sets rate to 100 and rate_ms to 60000: in any minute at most 100 of the queue are taken, and a\n"
        "burst of rate_burst (0: 100) that was saved up before, over all workers and leases. rate_burst=1 spreads\n"
        "them evenly. What is given back has been taken all the same. rate=50 leaves rate_ms as it is, and so does\n"
        "--unset rate.\n"
        "\n"
        "max_running_per_key=1 lets one job of each key run at once, of jobs that are put with --key. With fair=1\n"
        "each key has its turn: of jobs of equal priority comes first the first one of each key, then the second one\n"
        "of each, and so on. Jobs without a key are of one key. What waits already gets its turn in steps, as soon as "
        "a\n"
        "worker or a take looks at the queue.\n"
        "\n"
        "What keep_failed and the like drop is counted in `muster queues --json`. What keep_jobs, keep_jobs_ms and\n"
        "keep_history let go is not: complete jobs go with their records, the oldest first, and of a history the\n"
        "lines between the first one and the newest ones.\n"
        "\n"
        "What is beyond a new bound (keep_failed..., keep_jobs...) goes in steps. The first one is made at once:\n"
        "up to 200 failures and 300 complete jobs. Workers go on until the bound holds; without a worker,\n"
        "`muster sweep` does. A full Redis accepts settings, too.\n",
    .examples = "muster config --queue mail\n"
                "muster config --queue mail max_running=10\n"
                "muster config --queue mail rate=100/1m rate_burst=10\n"
                "muster config --queue mail fair=1\n"
                "muster config keep_jobs_ms=2d keep_history=20\n"
                "muster config keep_jobs\n"
                "muster config --queue mail --unset max_running\n",
    .options = options,
    .max_operands = SIZE_MAX,
    .run = run,
};
