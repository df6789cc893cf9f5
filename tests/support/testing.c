/* SPDX-License-Identifier: MIT
 *
 * Running the cases of a test program (all of them, or those that its argument names), and where a failure is reported.
 *
 * cmocka reports the line of the assert, which in a helper says nothing about the case. Every assert of cmocka ends in
 * _fail(). This file defines _fail() in front of cmocka's, and walks the stack back to the case. So no helper has to
 * pass on its caller's line, and none can forget to. The sanitizers' runtime knows the lines; without it (the preset
 * `release`) a failure is reported at the assert.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

/* ---- where a failure is reported ---- */

void __sanitizer_symbolize_pc(void *pc, const char *format, char *out, size_t size) __attribute__((weak));

struct place {
    char function[128], file[512];
    int line;
};

/* A call returns to the instruction after it, which may belong to the next line. */
static bool find_place(void *return_address, struct place *p)
{
    char text[sizeof p->function + sizeof p->file + 16] = "";
    __sanitizer_symbolize_pc((char *)return_address - 1, "%l %f %s", text, sizeof text);
    return sscanf(text, "%d %127s %511s", &p->line, p->function, p->file) == 3;
}

/* The outermost place of a test between cmocka and this call. Prints all places on the way, the innermost first. */
static bool find_case(struct place *found)
{
    void *calls[100];
    int n = __sanitizer_symbolize_pc ? backtrace(calls, N_OF(calls)) : 0;
    bool is_found = false;
    for (int i = 0; i < n; i++) {
        struct place p;
        if (!find_place(calls[i], &p) || !strstr(p.file, "/tests/"))
            continue;
        bool is_here = strstr(p.file, "support/testing.c") != NULL;
        if (is_here && is_found)
            break;
        if (is_here)
            continue;
        print_error("%s %s:%d: %s\n", is_found ? "called at" : "failed at", p.file, p.line, p.function);
        *found = p;
        is_found = true;
    }
    return is_found;
}

static struct {
    void (*tell)(void *arg);
    void *arg;
} on_failure;

void testing_on_failure(void (*tell)(void *arg), void *arg)
{
    on_failure.tell = tell;
    on_failure.arg = arg;
}

static void tell_once(void)
{
    void (*tell)(void *arg) = on_failure.tell;
    on_failure.tell = NULL;
    if (tell)
        tell(on_failure.arg);
}

/* Visible to cmocka, whose own calls come here, too. */
__attribute__((visibility("default"))) void _fail(const char *const file, const int line)
{
    void (*fail_at)(const char *file, int line);
    struct place found;
    *(void **)&fail_at = dlsym(RTLD_NEXT, "_fail");
    tell_once();
    if (find_case(&found))
        fail_at(found.file, found.line);
    fail_at(file, line);
    abort();
}

/* ---- which cases are run ---- */

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
        if (!strcmp(pattern, cases[i].name) || fnmatch(pattern, cases[i].name, 0) == 0)
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
