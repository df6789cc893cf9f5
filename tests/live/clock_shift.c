/* SPDX-License-Identifier: MIT
 *
 * Preloaded into a Redis: its clock of the day is that of the machine plus the microseconds that a file holds, at any
 * moment. The monotonic clock stays as it is.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t shift_us(void)
{
    static const volatile int64_t *shift;
    const char *path = getenv("MUSTER_TEST_CLOCK");
    if (!shift && path) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        void *at = fd >= 0 ? mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
        close(fd);
        if (at == MAP_FAILED)
            abort();
        shift = at;
    }
    return shift ? *shift : 0;
}

static int64_t now_us(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + shift_us();
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    int64_t us = now_us();
    (void)zone;
    out->tv_sec = us / 1000000;
    out->tv_usec = us % 1000000;
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *out)
{
    time_t now = now_us() / 1000000;
    if (out)
        *out = now;
    return now;
}
