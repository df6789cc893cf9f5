/* SPDX-License-Identifier: MIT
 *
 * Preloaded into a program: before it locks a file it stands still at the FIFO that MUSTER_TEST_FIFO names, until
 * somebody has opened that for reading, and then for writing. So a test can let something happen between its open and
 * its lock. With MUSTER_TEST_NO_LOCKS nothing can be locked, as on some file systems.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static void meet(const char *path, int how)
{
    int fd = open(path, how | O_CLOEXEC);
    if (fd < 0)
        abort();
    close(fd);
}

__attribute__((visibility("default"))) int flock(int fd, int how)
{
    const char *path = getenv("MUSTER_TEST_FIFO");
    if (path) {
        meet(path, O_WRONLY);
        meet(path, O_RDONLY);
        unsetenv("MUSTER_TEST_FIFO"); /* once */
    }
    if (getenv("MUSTER_TEST_NO_LOCKS")) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, how);
}
