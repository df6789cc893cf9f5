/* SPDX-License-Identifier: MIT
 *
 * muster bench: replaces itself with muster-bench. The benchmark is a program of its own because its raw side calls
 * hiredis, which the command does not.
 */
#include <errno.h>
#include <limits.h>
#include <muster/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "connection.h"

#define PROGRAM "muster-bench"

enum { SCALE, SECONDS, LIST };

static const struct opt options[] = {
    [SCALE] = {.name = "scale",
               .help = "measure also with 10 000 000 waiting tasks, which takes 1.3 GB and a minute or two"},
    [SECONDS] = {.name = "seconds",
                 .kind = OPT_COUNT,
                 .argument = "N",
                 .help = "N seconds for each experiment, instead of 45 s for all",
                 .min = 1,
                 .max = 3600},
    [LIST] = {.name = "list", .help = "list the rows, with what they measure and their goals"},
    {.help = NULL},
};

/* Where muster-bench is if it lies in `folder`, which is relative to this program; "" if this program's path is not
 * known. */
static void make_path(char path[PATH_MAX], const char *folder)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self);
    path[0] = '\0';
    if (len <= 0 || len == sizeof self)
        return;
    while (len > 0 && self[len - 1] != '/')
        len--;
    if (snprintf(path, PATH_MAX, "%.*s%s" PROGRAM, (int)len, self, folder) >= PATH_MAX)
        path[0] = '\0';
}

static void add(const char **argv, size_t *n, const char *name, const struct opt_value *value)
{
    if (!value->set)
        return;
    argv[(*n)++] = name;
    if (value->text)
        argv[(*n)++] = value->text;
}

static int become(const struct call *call, const char **argv)
{
    static const char *const folders[] = {"", MUSTER_LIBEXEC "/"};
    char paths[sizeof folders / sizeof *folders][PATH_MAX];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        make_path(paths[i], folders[i]);
        execv(paths[i], (char *const *)argv);
        if (errno != ENOENT) {
            complain_refusal(call, COMPLAIN_SYSTEM, "%s cannot be run: %s", paths[i], strerror(errno));
            return EXIT_FAILED;
        }
    }
    complain_refusal(call, COMPLAIN_SYSTEM, "there is neither %s nor %s; build and install all of muster", paths[0],
                     paths[1]);
    return EXIT_FAILED;
}

/* Anybody can read arguments: a URL may have a password. muster-bench takes one from there alone. */
static int pass_url(const struct call *call)
{
    if (!call->common[OPT_URL].set)
        return EXIT_DONE;
    int code = connection_refuse_environment(call, "the benchmark does not take it: put it in MUSTER_URL");
    if (code)
        return code;
    if (setenv("MUSTER_URL", call->common[OPT_URL].text, 1) != 0) {
        complain_refusal(call, muster_err_name(MUSTER_E_NOMEM), "out of memory");
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static int run(const struct call *call)
{
    const char *argv[2 * OPERANDS_ALL + 16] = {PROGRAM};
    size_t n = 1;
    int code = connection_refuse(call, "the benchmark does not take it");
    if (code)
        return code;
    char seconds[24], timeout[24];
    snprintf(seconds, sizeof seconds, "%lld", (long long)call->own[SECONDS].number);
    snprintf(timeout, sizeof timeout, "%lld", (long long)call->common[OPT_TIMEOUT].number);
    add(argv, &n, "--timeout", &(struct opt_value){.set = call->common[OPT_TIMEOUT].set, .text = timeout});
    code = pass_url(call);
    if (code)
        return code;
    add(argv, &n, "--prefix", &call->common[OPT_PREFIX]);
    add(argv, &n, "--json", &call->common[OPT_JSON]);
    add(argv, &n, "--scale", &call->own[SCALE]);
    add(argv, &n, "--seconds", &(struct opt_value){.set = call->own[SECONDS].set, .text = seconds});
    add(argv, &n, "--list", &call->own[LIST]);
    for (size_t i = 0; i < call->n_operands; i++)
        add(argv, &n, "--row", &(struct opt_value){.set = 1, .text = call->operands[i]});
    return become(call, argv);
}

const struct command cmd_bench = {
    .name = "bench",
    .operands = "[ROW...]",
    .summary = "Measure muster against the cheapest way of doing the same with Redis alone",
    .about =
        "Both sides do the same work in small blocks, in turn; the ratio compares neighbouring blocks. Without\n"
        "--url and MUSTER_URL, the benchmark starts a Redis of its own, on a Unix socket and on TCP. With one of\n"
        "them it works there, under a prefix of its own, which it removes. A goal is set for the ratio, or for the\n"
        "figure where there is no raw side; a missed goal is not a failure. The figures include whatever else runs\n"
        "on the machine. --timeout limits how long its raw side waits for one answer (default 60s).\n",
    .examples = "muster bench\nmuster bench drain drain_cpu --seconds 20\nmuster bench --json >today.jsonl\n",
    .options = options,
    .max_operands = OPERANDS_ALL,
    .has_no_connection = true,
    .run = run,
};
