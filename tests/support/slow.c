/* SPDX-License-Identifier: MIT
 *
 * Two things are asked, and the worse counts: how many wait for each processor, and how long a piece of work takes. A
 * new process gets its first milliseconds at once beside any load; a limit on the processor's time shows in no load.
 */
#include "slow.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "wait.h"

/* It needs so long on a good machine. */
#define WORK_MS 20
#define STEPS 10000000
#define SLOWEST 8

static double waiting_per_processor(void)
{
    double load = 0;
    FILE *f = fopen("/proc/loadavg", "re");
    if (f) {
        if (fscanf(f, "%lf", &load) != 1)
            load = 0;
        fclose(f);
    }
    return load / (double)sysconf(_SC_NPROCESSORS_ONLN);
}

static double slowness_of_work(void)
{
    volatile uint64_t x = 1;
    const int64_t began_ms = now_ms();
    for (int i = 0; i < STEPS; i++)
        x = x * 6364136223846793005U + 1;
    return (double)(now_ms() - began_ms) / WORK_MS;
}

/* Asked before the first thread or child, by the first that needs it. */
static double slowness(void)
{
    static double known;
    if (known == 0) {
        const double by_load = waiting_per_processor(), by_work = slowness_of_work();
        known = by_load > by_work ? by_load : by_work;
        known = known < 1 ? 1 : known > SLOWEST ? SLOWEST : known;
    }
    return known;
}

int slow_ms(int ms)
{
    return (int)(ms * slowness());
}
