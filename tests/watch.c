/* SPDX-License-Identifier: MIT
 *
 * watch SECONDS COMMAND [ARGUMENT...]: runs a test, and ends it if it hangs.
 *
 * A test hangs if it and all that it has started used SECONDS of CPU, or next to no CPU for IDLE_S. The clock says
 * nothing: on a slow machine, or beside much else, a sound test takes any time. Only after CLOCK_S it ends a test by the
 * clock, so that none goes on for ever.
 *
 * The test gets a folder of its own for temporary files. At its end neither a process nor a file of it may be left; what
 * is left is named, ended and removed, and the test has failed. All that it starts is this program's to reap, also what
 * has lost its parent.
 */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_S 2
/* A sound test may wait for a ttl that is as long as the machine is slow. */
#define IDLE_S 300
#define IDLE_CPU_S 1.0
#define CLOCK_S 3000
/* What the death of its parent ends, or an end that it was told, takes a moment: in turns, since a starved machine needs
 * longer for each. */
#define TURN_MS 10
#define LAST_TURNS 1000
/* So many CPUs may work for a test that was told how long to go on. */
#define CPUS_MAX 8
#define STATUS_HUNG 124
#define STATUS_LEFT 125
#define PROCESSES_MAX 8192

struct process {
    pid_t pid, parent;
    double cpu_s;
    bool is_ours;
};

static struct process processes[PROCESSES_MAX];
static int n_processes;
static char folder[4096];

/* ---- what it has started ---- */

static bool read_process(const char *pid, struct process *p)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *rest = strrchr(text, ')'); /* its name may hold anything */
    unsigned long user, system;
    long users, systems; /* of those that it has reaped */
    if (!rest || sscanf(rest, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &p->parent, &user,
                        &system, &users, &systems) != 5)
        return false;
    p->pid = atoi(pid);
    p->is_ours = p->pid == getpid();
    p->cpu_s = (double)(user + system + (unsigned long)users + (unsigned long)systems) / (double)sysconf(_SC_CLK_TCK);
    return true;
}

static void read_processes(void)
{
    DIR *proc = opendir("/proc");
    n_processes = 0;
    for (struct dirent *d; proc && n_processes < PROCESSES_MAX && (d = readdir(proc));)
        if (strspn(d->d_name, "0123456789") == strlen(d->d_name) && read_process(d->d_name, &processes[n_processes]))
            n_processes++;
    if (proc)
        closedir(proc);
}

/* Looks again until it finds no more: a child may stand before its parent. */
static void find_ours(void)
{
    read_processes();
    for (bool is_more = true; is_more;) {
        is_more = false;
        for (int i = 0; i < n_processes; i++)
            for (int j = 0; !processes[i].is_ours && j < n_processes; j++)
                if (processes[j].is_ours && processes[j].pid == processes[i].parent)
                    processes[i].is_ours = is_more = true;
    }
}

static double used_cpu_s(void)
{
    double sum = 0;
    find_ours();
    for (int i = 0; i < n_processes; i++)
        sum += processes[i].is_ours ? processes[i].cpu_s : 0;
    return sum;
}

static void name_process(pid_t pid)
{
    char path[64], words[512] = "";
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(words, 1, sizeof words - 1, f) : 0;
    if (f)
        fclose(f);
    for (size_t i = 0; i + 1 < n; i++)
        words[i] = words[i] ? words[i] : ' ';
    fprintf(stderr, "watch:   %d %s\n", (int)pid, words);
}

static void name_ours(void)
{
    find_ours();
    for (int i = 0; i < n_processes; i++)
        if (processes[i].is_ours && processes[i].pid != getpid())
            name_process(processes[i].pid);
}

static void pause_a_turn(void)
{
    nanosleep(&(struct timespec){.tv_nsec = TURN_MS * 1000000L}, NULL);
}

/* A child whose parent is killed becomes ours. So this ends when there is nobody more to wait for. */
static void end_all(void)
{
    while (waitpid(-1, NULL, WNOHANG) >= 0) {
        find_ours();
        for (int i = 0; i < n_processes; i++)
            if (processes[i].is_ours && processes[i].pid != getpid())
                kill(processes[i].pid, SIGKILL);
        pause_a_turn();
    }
}

/* Does all that it has started end within the last turns? */
static bool all_end(void)
{
    for (int turn = 0; turn < LAST_TURNS; turn++) {
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
            continue;
        if (ended < 0)
            return true;
        pause_a_turn();
    }
    return false;
}

/* ---- its folder ---- */

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/t.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder) || setenv("TMPDIR", folder, 1) != 0) {
        perror(folder);
        exit(STATUS_LEFT);
    }
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

static int name_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind;
    if (at->level == 1)
        fprintf(stderr, "watch: left behind: %s\n", path);
    return 0;
}

static void remove_folder(void)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the test ---- */

static pid_t start(char **command, const sigset_t *mask)
{
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(STATUS_LEFT);
    }
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

/* True once the test itself has ended. */
static bool has_ended(pid_t test, int *status)
{
    int one;
    for (pid_t ended; (ended = waitpid(-1, &one, WNOHANG)) > 0;)
        if (ended == test) {
            *status = one;
            return true;
        }
    return false;
}

static double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* How long the group `fault` was told to go on. */
static double asked_for_s(void)
{
    const char *seconds = getenv("MUSTER_FAULT_SECONDS");
    return seconds ? atof(seconds) : 0;
}

/* Why the test is to be ended now; NULL: it goes on. */
static const char *why_hung(double limit_s)
{
    static double moved_s, cpu_then_s, began_s;
    double now_s = clock_s(), cpu_s = used_cpu_s();
    if (began_s == 0)
        began_s = moved_s = now_s;
    if (cpu_s > cpu_then_s + IDLE_CPU_S) {
        cpu_then_s = cpu_s;
        moved_s = now_s;
    }
    if (cpu_s > limit_s + asked_for_s() * CPUS_MAX)
        return "it has used more CPU than any sound run";
    if (now_s > moved_s + IDLE_S)
        return "it has done nothing for minutes";
    return now_s > began_s + CLOCK_S + asked_for_s() ? "it has gone on for too long by the clock" : NULL;
}

static int end_hung(const char *why)
{
    fprintf(stderr, "watch: ended: %s; its processes:\n", why);
    name_ours();
    end_all();
    remove_folder();
    return STATUS_HUNG;
}

static int end_told(int sig)
{
    end_all();
    remove_folder();
    signal(sig, SIG_DFL);
    raise(sig);
    return 128 + sig;
}

static int end_sound(int status)
{
    bool is_clean = all_end();
    if (!is_clean) {
        fprintf(stderr, "watch: left running, ended now:\n");
        name_ours();
        end_all();
    }
    if (rmdir(folder) != 0) {
        is_clean = false;
        nftw(folder, name_one, 16, FTW_PHYS);
        remove_folder();
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "watch: ended by signal %d, %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status) || is_clean ? WEXITSTATUS(status) : STATUS_LEFT;
}

int main(int argc, char **argv)
{
    double limit_s = argc > 2 ? atof(argv[1]) : 0;
    if (limit_s <= 0) {
        fprintf(stderr, "usage: watch SECONDS COMMAND [ARGUMENT...]\n");
        return 2;
    }
    sigset_t watched, mask;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGHUP);
    sigprocmask(SIG_BLOCK, &watched, &mask);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    make_folder();
    pid_t test = start(argv + 2, &mask);
    double looked_s = clock_s();
    int status;
    while (!has_ended(test, &status)) {
        int sig = sigtimedwait(&watched, NULL, &(struct timespec){.tv_sec = LOOK_S});
        if (sig > 0 && sig != SIGCHLD)
            return end_told(sig);
        if (clock_s() < looked_s + LOOK_S)
            continue;
        looked_s = clock_s();
        const char *why = why_hung(limit_s);
        if (why)
            return end_hung(why);
    }
    return end_sound(status);
}
