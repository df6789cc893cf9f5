/* SPDX-License-Identifier: MIT
 *
 * The protocol of sd_notify(3): each state is a datagram to the socket that NOTIFY_SOCKET names. libsystemd would do no
 * more, and would bring four other libraries into a command that starts in milliseconds.
 */
#include "notify.h"

#include <errno.h>
#include <stdatomic.h>
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

/* How soon a manager that had no room is told again. */
#define AGAIN_MS 1000

/* In the order in which they are said. */
static const char *const states[] = {[NOTIFY_READY] = "READY=1", [NOTIFY_STOPPING] = "STOPPING=1"};
static atomic_uint unsaid; /* a bit for each */

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

/* There may be room for it later. */
static bool is_for_now(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == ENOMEM || error == EMFILE || error == ENFILE;
}

/* False: not now. Who is not there, or refuses, is told nothing later either. */
static bool say(const char *text)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_said = fd >= 0 && sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
                                     (const struct sockaddr *)&address, address_len) >= 0;
    bool is_done = is_said || !is_for_now(errno);
    if (fd >= 0)
        close(fd);
    return is_done;
}

/* A signal may come in between, and say the same twice. */
static void say_unsaid(void)
{
    for (unsigned i = 0; i < sizeof states / sizeof *states; i++)
        if (atomic_load(&unsaid) & 1u << i) {
            if (!say(states[i]))
                return;
            atomic_fetch_and(&unsaid, ~(1u << i));
        }
}

void notify_say(enum notify_state state)
{
    int saved = errno;
    if (address_len) {
        atomic_fetch_or(&unsaid, 1u << state);
        say_unsaid();
    }
    errno = saved;
}

int64_t notify_pulse_ms(void)
{
    if (!address_len)
        return 0;
    return watchdog_ms > 0 && watchdog_ms < AGAIN_MS ? watchdog_ms : AGAIN_MS;
}

void notify_pulse(void)
{
    say_unsaid();
    if (watchdog_ms > 0)
        (void)say("WATCHDOG=1");
}
