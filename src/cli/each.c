/* SPDX-License-Identifier: MIT
 *
 * Each operand has its own request and its own line. So it is known of each operand whether it was done, even if the
 * connection breaks in between.
 */
#include "each.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "complain.h"
#include "need.h"
#include "out.h"
#include "parse.h"
#include "progress.h"
#include "text.h"

/* Enough for any process id; a longer task is cut off. */
#define OPERAND_COLUMNS 300

/* Would every other operand fail, too? What is wrong with the first one may be wrong with the call. */
static bool is_general(int err, bool is_first)
{
    return err != MUSTER_OK && (err != MUSTER_E_INVALID || is_first) && err != MUSTER_E_LOST && err != MUSTER_E_STATE &&
           err != MUSTER_E_NOT_FOUND && err != MUSTER_E_REDIS && err != MUSTER_E_CANCELLED &&
           err != MUSTER_E_EXHAUSTED && err != MUSTER_E_TOO_BIG;
}

/* Do these words name the operand, in quotes? */
static bool is_named(const char *words, const char *operand)
{
    size_t len = strlen(operand);
    for (const char *at = strchr(words, '\''); at; at = strchr(at + 1, '\''))
        if (strncmp(at + 1, operand, len) == 0 && at[1 + len] == '\'')
            return true;
    return false;
}

static int report_operand(const struct call *call, const struct muster_client *client, size_t first, size_t i, int err)
{
    char *detail = NULL, others[TEXT_NUMBER_SIZE], rest[TEXT_NUMBER_SIZE + 32] = "";
    if (err == MUSTER_OK)
        return EXIT_DONE;
    if (is_general(err, i == first) && i + 1 < call->n_operands)
        snprintf(rest, sizeof rest, "; the %s not tried",
                 text_number_of(others, call->n_operands - i - 1, "operand after it was", "operands after it were"));
    const char *operand = call->operands[i], *words = muster_client_error(client);
    bool says_which = is_named(words, operand);
    char *shown = text_printable(operand, strlen(operand), OPERAND_COLUMNS);
    if (asprintf(&detail, "%s%s%s%s", says_which ? "" : shown, says_which ? "" : ": ",
                 *words ? words : muster_err_text(err), rest) < 0)
        need(NULL);
    int code = complain_tried(i > first, complain_error(call, err, detail));
    free(detail);
    free(shown);
    return code;
}

static int report_stopped(const struct call *call, size_t n_left)
{
    char left[TEXT_NUMBER_SIZE];
    return complain_stopped(call, "the last %s not tried",
                            text_number_of(left, n_left, "operand was", "operands were"));
}

int each_operand(const struct call *call, size_t first, each_fn *fn, void *arg)
{
    struct muster_client *client;
    int code = client_open(call, &client), err = MUSTER_OK;
    if (client && call->n_operands - first > 1)
        progress_begin(call);
    for (size_t i = first; client && i < call->n_operands && !is_general(err, i == first + 1); i++) {
        if (progress_is_stopped()) {
            code = complain_higher(code, report_stopped(call, call->n_operands - i));
            break;
        }
        err = fn(call, client, call->operands[i], arg);
        progress_show("done", i + 1 - first, call->n_operands - first);
        code = complain_higher(code, report_operand(call, client, first, i, err));
    }
    client_free(client);
    return code;
}

int each_process(const struct call *call, each_fn *fn, void *arg)
{
    int code = parse_check_operands(call, 0, call->n_operands, "PROCESS", muster_process_id_check);
    return code ? code : each_operand(call, 0, fn, arg);
}

int each_print(const struct call *call, const char *what, const char *operand, const char *outcome, int err)
{
    const struct out_column columns[] = {{NULL, what, OUT_TEXT}, {NULL, "outcome", OUT_TEXT}, {NULL, NULL, OUT_TEXT}};
    if (err != MUSTER_OK)
        return err;
    if (call->common[OPT_JSON].set)
        out_json(columns, (const struct out_cell[]){{.text = operand}, {.text = outcome}});
    else
        out_text("%s: %s\n", operand, outcome);
    return MUSTER_OK;
}

int each_print_process(const struct call *call, const char *process, const char *outcome, int err)
{
    return each_print(call, "process", process, outcome, err);
}

/* ---- queues ---- */

/* The names are collected first, because a callback of the library must not use its client. */
struct names {
    char **names;
    size_t n;
};

static int add_name(const struct muster_queue_info *queue, void *arg)
{
    struct names *names = arg;
    names->names = need(reallocarray(names->names, names->n + 1, sizeof *names->names));
    names->names[names->n++] = need(strdup(queue->name));
    return 0;
}

int each_queue(struct muster_client *client, each_queue_fn *fn, void *arg)
{
    struct names names = {.n = 0};
    int err = muster_queue_list(client, add_name, &names);
    for (size_t i = 0; i < names.n; i++) {
        if (err == MUSTER_OK && !out_error())
            err = fn(client, names.names[i], arg);
        free(names.names[i]);
    }
    free(names.names);
    return err;
}
