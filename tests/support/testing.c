/* SPDX-License-Identifier: MIT
 *
 * Running the cases of a test program: all of them, or those that its argument names.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

static int list(const struct CMUnitTest *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        puts(cases[i].name);
    return EXIT_SUCCESS;
}

static int run(const struct CMUnitTest *cases, size_t n, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    return _cmocka_run_group_tests("tests", cases, n, set_up, tear_down) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* cmocka's own filter runs nothing, and succeeds, when no name matches. */
static int run_matching(const struct CMUnitTest *cases, size_t n, CMFixtureFunction set_up, CMFixtureFunction tear_down,
                        const char *pattern)
{
    struct CMUnitTest *matching = calloc(n, sizeof *matching);
    size_t n_matching = 0;
    for (size_t i = 0; i < n; i++)
        if (fnmatch(pattern, cases[i].name, 0) == 0)
            matching[n_matching++] = cases[i];
    int status = EXIT_FAILURE;
    if (n_matching > 0)
        status = run(matching, n_matching, set_up, tear_down);
    else
        fprintf(stderr, "no case is named %s; --list prints the names\n", pattern);
    free(matching);
    return status;
}

int testing_run_cases(const struct CMUnitTest *cases, size_t n, CMFixtureFunction set_up, CMFixtureFunction tear_down,
                      int argc, char **argv)
{
    if (argc > 2) {
        fprintf(stderr, "usage: %s [CASE|--list]\n", argv[0]);
        return EXIT_FAILURE;
    }
    if (argc < 2)
        return run(cases, n, set_up, tear_down);
    if (!strcmp(argv[1], "--list"))
        return list(cases, n);
    return run_matching(cases, n, set_up, tear_down, argv[1]);
}
