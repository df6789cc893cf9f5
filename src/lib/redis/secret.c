/* SPDX-License-Identifier: MIT
 *
 * Passwords that lie in files. A file is regular, because it is read again and again, and its first line counts.
 */
#include "redis/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define SECRET_MAX 4096

/* The first line, in place. What is wrong with it, in words, or NULL. */
static const char *cut_line(char *text, size_t len)
{
    char *newline = memchr(text, '\n', len);
    size_t end = newline ? (size_t)(newline - text) : len;
    end -= newline && end > 0 && text[end - 1] == '\r';
    if (end == 0)
        return "its first line, the password, is empty";
    if (end > SECRET_MAX || memchr(text, '\0', end))
        return "its first line is no password: it is too long, or has a NUL";
    text[end] = '\0';
    return NULL;
}

static const char *read_file(const char *path, char text[SECRET_MAX + 3], char room[128])
{
    struct stat about;
    const char *why = NULL;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &about) == 0)
        n = S_ISREG(about.st_mode) ? read(fd, text, SECRET_MAX + 2) : 0;
    if (n < 0)
        why = strerror_r(errno, room, 128);
    else
        why = S_ISREG(about.st_mode) ? cut_line(text, (size_t)n) : "it is no regular file";
    if (fd >= 0)
        close(fd);
    return why;
}

static int renew(char **password, bool *is_old, const char *option, const char *path, char *why, size_t size)
{
    char text[SECRET_MAX + 3] = "", room[128];
    const char *wrong = path ? read_file(path, text, room) : NULL;
    const bool is_news = wrong && *password && !*is_old;
    int err = MUSTER_OK;
    *is_old = wrong && *password;
    if (!path || (!wrong && *password && strcmp(*password, text) == 0)) {
        err = MUSTER_OK;
    } else if (wrong) {
        snprintf(why, size, "%s: %s: %s", option, path, wrong);
        err = *password ? MUSTER_OK : MUSTER_E_INVALID;
        if (is_news)
            log_line(MUSTER_LOG_WARN, "%s; the password from before is used", why);
    } else {
        char *made = strdup(text);
        err = made ? MUSTER_OK : MUSTER_E_NOMEM;
        if (made) {
            url_wipe(*password);
            *password = made;
        }
    }
    explicit_bzero(text, sizeof text);
    return err;
}

int secret_renew(struct url *url, char *why, size_t size)
{
    int err = renew(&url->password, &url->is_password_old, "password_file", url->password_file, why, size);
    if (err == MUSTER_OK)
        err = renew(&url->sentinel_password, &url->is_sentinel_password_old, "sentinel_password_file",
                    url->sentinel_password_file, why, size);
    return err;
}
