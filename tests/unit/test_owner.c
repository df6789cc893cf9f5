/* SPDX-License-Identifier: MIT
 *
 * The number of a process: one for all its threads, another one in each child, however that was forked, and never taken
 * from the parent.
 */
#include "base/owner.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

#define THREADS 4
#define FORKS 60

static pid_t fork_raw(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static pid_t (*const forks[])(void) = {fork, _Fork, fork_raw};

/* It is not the parent's, and stays. */
static bool is_another(uint64_t parent)
{
    const uint64_t own = owner_this();
    return own != 0 && own != parent && own == owner_this();
}

static void await(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void each_child_has_a_number_of_its_own(void **state)
{
    const uint64_t own = owner_this();
    (void)state;
    for (size_t i = 0; i < N_OF(forks); i++) {
        pid_t pid = forks[i]();
        assert_true(pid >= 0);
        if (pid == 0) {
            const uint64_t child = owner_this();
            pid_t grandchild = forks[i]();
            if (grandchild == 0)
                _exit(is_another(child) && is_another(own) ? 0 : 1);
            int status = 1;
            waitpid(grandchild, &status, 0);
            _exit(child != own && child == owner_this() && status == 0 ? 0 : 1);
        }
        await(pid);
        assert_true(owner_this() == own);
    }
}

/* It has its parent's memory. */
static void a_child_of_vfork_takes_nothing_from_its_parent(void **state)
{
    const uint64_t own = owner_this();
    (void)state;
    pid_t pid = vfork();
    if (pid == 0)
        _exit(0);
    await(pid);
    assert_true(owner_this() == own);
}

struct crew {
    pthread_barrier_t begin;
    atomic_bool stop;
    uint64_t parent;
    atomic_int n_wrong;
};

static void *ask(void *arg)
{
    struct crew *c = arg;
    pthread_barrier_wait(&c->begin);
    const uint64_t first = owner_this();
    while (!atomic_load(&c->stop))
        if (owner_this() != first || first == c->parent)
            atomic_fetch_add(&c->n_wrong, 1);
    return (void *)(uintptr_t)first;
}

/* Threads that ask, the first time too, until they are told to stop; all get the same number. */
static void begin(struct crew *c, pthread_t threads[THREADS], uint64_t parent)
{
    *c = (struct crew){.parent = parent};
    pthread_barrier_init(&c->begin, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, ask, c);
    pthread_barrier_wait(&c->begin);
}

static bool end(struct crew *c, pthread_t threads[THREADS])
{
    bool is_right = true;
    atomic_store(&c->stop, true);
    for (int i = 0; i < THREADS; i++) {
        void *number;
        pthread_join(threads[i], &number);
        is_right &= (uint64_t)(uintptr_t)number == owner_this();
    }
    pthread_barrier_destroy(&c->begin);
    return is_right && atomic_load(&c->n_wrong) == 0;
}

static void a_fork_while_other_threads_ask_harms_neither(void **state)
{
    struct crew c;
    pthread_t threads[THREADS];
    const uint64_t own = owner_this();
    (void)state;
    begin(&c, threads, 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t pid = forks[i % (int)N_OF(forks)]();
        if (pid == 0)
            _exit(is_another(own) ? 0 : 1);
        await(pid);
    }
    assert_true(end(&c, threads));
    assert_true(owner_this() == own);
}

/* A child's first thread to ask makes the number, while others do. */
static void all_threads_of_a_child_have_one_number(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const uint64_t own = owner_this();
        pid_t pid = fork();
        if (pid == 0) {
            struct crew c;
            pthread_t threads[THREADS];
            begin(&c, threads, own);
            _exit(end(&c, threads) ? 0 : 1);
        }
        await(pid);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_child_has_a_number_of_its_own),
        cmocka_unit_test(a_child_of_vfork_takes_nothing_from_its_parent),
        cmocka_unit_test(a_fork_while_other_threads_ask_harms_neither),
        cmocka_unit_test(all_threads_of_a_child_have_one_number),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
