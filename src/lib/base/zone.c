/* SPDX-License-Identifier: MIT
 *
 * Reads a file of zone data as RFC 8536 describes it: a block of the first version, which is passed over, the same once
 * more with times of 64 bits, and the rule for later times. Numbers have their highest byte first.
 */
#include "base/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/words.h"

#define FOLDER "/usr/share/zoneinfo/"
#define FILE_MAX (1024 * 1024)
#define HEADER 44
#define DAY ((int64_t)24 * 3600)
/* Offsets beyond 26 hours are damage. */
#define OFFSET_MAX (26 * 3600)

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '+' || c == '/';
}

/* No name leads out of the folder: dots are not allowed. */
static bool is_name(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!is_name_byte(name[i]))
            return false;
    return len > 0 && len <= ZONE_NAME_MAX && *name != '/' && name[len - 1] != '/';
}

/* ---- the file ---- */

struct file {
    unsigned char *bytes;
    size_t len;
};

static bool read_all(int fd, struct file *f)
{
    struct stat is;
    if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode) || is.st_size > FILE_MAX)
        return false;
    f->bytes = malloc((size_t)is.st_size + 1);
    while (f->bytes && f->len < (size_t)is.st_size) {
        ssize_t n = read(fd, f->bytes + f->len, (size_t)is.st_size - f->len);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        f->len += n > 0 ? (size_t)n : 0;
    }
    return f->bytes;
}

static bool read_file(const char *name, struct file *f)
{
    char path[sizeof FOLDER + ZONE_NAME_MAX] = FOLDER;
    strcat(path, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool is_read = read_all(fd, f);
    close(fd);
    return is_read;
}

/* ---- its content ---- */

static uint32_t get32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t get64(const unsigned char *at)
{
    return (int64_t)((uint64_t)get32(at) << 32 | get32(at + 4));
}

/* How many there are of each thing in a block, in the order of its header. */
struct counts {
    uint32_t utc, standard, leaps, changes, types, letters;
};

static bool read_header(const struct file *f, size_t at, struct counts *n)
{
    if (at > f->len || f->len - at < HEADER || memcmp(f->bytes + at, "TZif", 4) != 0 || f->bytes[at + 4] < '2')
        return false;
    const unsigned char *h = f->bytes + at + 20;
    *n = (struct counts){get32(h), get32(h + 4), get32(h + 8), get32(h + 12), get32(h + 16), get32(h + 20)};
    return n->utc <= FILE_MAX && n->standard <= FILE_MAX && n->leaps <= FILE_MAX && n->changes <= FILE_MAX &&
           n->types <= FILE_MAX && n->letters <= FILE_MAX;
}

static size_t block_size(const struct counts *n, size_t time_size)
{
    return HEADER + n->changes * (time_size + 1) + n->types * (size_t)6 + n->letters + n->leaps * (time_size + 4) +
           n->standard + n->utc;
}

static bool read_offset(const unsigned char *types, uint32_t n_types, uint32_t type, int32_t *out)
{
    if (type >= n_types)
        return false;
    *out = (int32_t)get32(types + type * (size_t)6);
    return *out >= -OFFSET_MAX && *out <= OFFSET_MAX;
}

static bool read_changes(struct zone *z, const unsigned char *times, const struct counts *n)
{
    const unsigned char *which = times + n->changes * (size_t)8, *types = which + n->changes;
    z->changes = calloc(n->changes + 1, sizeof *z->changes);
    z->offsets = calloc(n->changes + 1, sizeof *z->offsets);
    if (!z->changes || !z->offsets || !read_offset(types, n->types, 0, &z->offsets[0]))
        return false;
    for (uint32_t i = 0; i < n->changes; i++) {
        z->changes[i] = get64(times + i * (size_t)8);
        if (!read_offset(types, n->types, which[i], &z->offsets[i + 1]) ||
            (i > 0 && z->changes[i] <= z->changes[i - 1]))
            return false;
    }
    z->n_changes = n->changes;
    return true;
}

/* Without a rule the last offset stays. */
static bool read_rule(struct zone *z, const char *text, size_t len)
{
    const char *end = len > 1 && *text == '\n' ? memchr(text + 1, '\n', len - 1) : NULL;
    if (!end)
        return false;
    z->rule = (struct zone_rule){.winter = z->offsets[z->n_changes]};
    return end == text + 1 || zone_rule_read(&z->rule, text + 1, (size_t)(end - text - 1));
}

/* With leap seconds the times are those of another clock. */
static bool read_zone(struct zone *z, const struct file *f)
{
    struct counts first, n;
    if (!read_header(f, 0, &first))
        return false;
    size_t at = block_size(&first, 4);
    if (!read_header(f, at, &n) || n.leaps > 0 || n.types == 0)
        return false;
    size_t end = at + block_size(&n, 8);
    return end <= f->len && read_changes(z, f->bytes + at + HEADER, &n) &&
           read_rule(z, (const char *)f->bytes + end, f->len - end);
}

const char *zone_load(struct zone *z, const char *name)
{
    struct file f = {NULL, 0};
    *z = (struct zone){.n_changes = 0};
    if (!is_name(name))
        return "a time zone is a name like Europe/Berlin: letters, digits, '_', '-', '+' and '/', at most 100 bytes";
    if (!read_file(name, &f)) {
        free(f.bytes);
        return words_say("there is no time zone '%s' in %s; Debian's package tzdata has them", name, FOLDER);
    }
    bool is_sound = read_zone(z, &f);
    free(f.bytes);
    if (is_sound)
        return NULL;
    zone_clear(z);
    return words_say("%s%s is no zone data that can be read: without leap seconds, of version 2 or later", FOLDER,
                     name);
}

void zone_clear(struct zone *z)
{
    free(z->changes);
    free(z->offsets);
    *z = (struct zone){.n_changes = 0};
}

/* ---- the span of a time ---- */

/* How many listed changes there are up to this time. */
static size_t changes_until(const struct zone *z, int64_t at)
{
    size_t low = 0, high = z->n_changes;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (z->changes[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* After the last listed change, which `s` has. The changes by the rule around this time: those of three years. */
static void follow_rule(const struct zone *z, int64_t at, struct zone_span *s)
{
    int64_t year = civil_date(at / DAY - (at % DAY < 0)).year;
    for (int64_t y = year - 1; y <= year + 1; y++) {
        struct zone_rule_change changes[ZONE_RULE_CHANGES];
        size_t n = zone_rule_changes(&z->rule, y, changes);
        for (size_t i = 0; i < n; i++) {
            if (changes[i].at <= s->from && s->from > INT64_MIN)
                continue; /* listed */
            if (changes[i].at > at) {
                s->until = changes[i].at;
                return;
            }
            s->from = changes[i].at;
            s->offset_before = s->offset;
            s->offset = changes[i].offset;
        }
    }
}

struct zone_span zone_span(const struct zone *z, int64_t at)
{
    size_t n = changes_until(z, at);
    struct zone_span s = {.from = n > 0 ? z->changes[n - 1] : INT64_MIN,
                          .until = n < z->n_changes ? z->changes[n] : INT64_MAX,
                          .offset = z->offsets[n],
                          .offset_before = z->offsets[n > 0 ? n - 1 : 0]};
    if (n == z->n_changes)
        follow_rule(z, at, &s);
    return s;
}
