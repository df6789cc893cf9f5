/* SPDX-License-Identifier: MIT */
#include "locales.h"

#include <fcntl.h>
#include <ftw.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "testing.h"

#define MADE_MS 240000
#define DESCRIPTORS 8

static char dir[] = "/tmp/muster-locales.XXXXXX";
static bool is_made;

static void compile(const char *name, const char *path)
{
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execlp("localedef", "localedef", "--no-archive", "-i", name, "-f", "UTF-8", path, NULL);
    _exit(127);
}

bool locales_set(const char *name)
{
    char file[32], path[80];
    if (!is_made && !mkdtemp(dir))
        fail_msg("no directory like %s", dir);
    is_made = true;
    snprintf(file, sizeof file, "%s.UTF-8", name);
    snprintf(path, sizeof path, "%s/%s", dir, file);
    pid_t pid = child_fork();
    if (pid == 0)
        compile(name, path);
    int status = child_reap(pid, MADE_MS);
    setenv("LOCPATH", dir, 1);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && setlocale(LC_ALL, file);
}

static int drop(const char *path, const struct stat *about, int kind, struct FTW *ftw)
{
    (void)about, (void)kind, (void)ftw;
    return remove(path);
}

void locales_clear(void)
{
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    if (is_made)
        assert_int_equal(nftw(dir, drop, DESCRIPTORS, FTW_DEPTH | FTW_PHYS), 0);
    if (is_made)
        memset(strchr(dir, '.') + 1, 'X', 6);
    is_made = false;
}
