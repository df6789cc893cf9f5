/* SPDX-License-Identifier: MIT
 *
 * The protocol of sd_notify(3): each state is a datagram to the socket that NOTIFY_SOCKET names. libsystemd would do no
 * more, and would bring four other libraries into a command that starts in milliseconds.
 */
#include "notify.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "text.h"

static struct sockaddr_un address;
static socklen_t address_len; /* 0: there is no manager */
static int64_t watchdog_ms;

static void read_address(const char *path)
{
    size_t len = path ? strlen(path) : 0;
    address_len = 0;
    if (len < 2 || len >= sizeof address.sun_path || (*path != '/' && *path != '@'))
        return;
    address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, len);
    if (*path == '@') /* a name that is in no folder */
        address.sun_path[0] = '\0';
    address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (*path == '/'));
}

/* The number in a variable; 0: none. */
static int64_t read_variable(const char *name)
{
    const char *text = getenv(name);
    int64_t n;
    return text && text_read_number(&text, &n) && !*text ? n : 0;
}

void notify_open(void)
{
    read_address(getenv("NOTIFY_SOCKET"));
    int64_t pid = read_variable("WATCHDOG_PID");
    bool is_ours = address_len && (!getenv("WATCHDOG_PID") || pid == getpid());
    watchdog_ms = is_ours ? read_variable("WATCHDOG_USEC") / 2000 : 0;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_PID");
    unsetenv("WATCHDOG_USEC");
}

void notify_say(const char *state)
{
    if (!address_len)
        return;
    int saved = errno;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&address,
                     address_len);
        close(fd);
    }
    errno = saved;
}

int64_t notify_watchdog_ms(void)
{
    return watchdog_ms;
}
