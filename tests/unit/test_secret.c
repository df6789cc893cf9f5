/* SPDX-License-Identifier: MIT
 *
 * Passwords in files: read anew each time, kept while the file cannot be read, and that is told once.
 */
#include "redis/secret.h"

#include <muster/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

struct fixture {
    char dir[64], file[80];
    struct url url;
    int n_lines;
};

static void count_line(enum muster_log_level level, const char *line, void *n)
{
    (void)level;
    *(int *)n += strstr(line, "the password from before is used") != NULL;
}

static void begin(struct fixture *f)
{
    char text[160];
    const char *why;
    *f = (struct fixture){.dir = "/tmp/muster-secret.XXXXXX"};
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->file, sizeof f->file, "%s/p", f->dir);
    snprintf(text, sizeof text, "redis://h?password_file=%s", f->file);
    assert_ok(url_parse(&f->url, text, &why));
    muster_log_set(count_line, &f->n_lines);
}

static void end(struct fixture *f)
{
    muster_log_set(NULL, NULL);
    (void)unlink(f->file);
    assert_int_equal(rmdir(f->dir), 0);
    url_clear(&f->url);
}

static void put(const struct fixture *f, const char *text)
{
    FILE *out = fopen(f->file, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static int renew(struct fixture *f)
{
    char why[400];
    return secret_renew(&f->url, why, sizeof why);
}

static void a_password_is_what_its_file_has_now(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    assert_err(renew(&f), MUSTER_E_INVALID);
    put(&f, "one\nmore\n");
    assert_ok(renew(&f));
    assert_string_equal(f.url.password, "one");
    put(&f, "two");
    assert_ok(renew(&f));
    assert_string_equal(f.url.password, "two");
    assert_int_equal(f.n_lines, 0);
    end(&f);
}

/* As before each attempt to connect. */
static void that_a_file_cannot_be_read_any_more_is_told_once_each_time(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    put(&f, "one");
    assert_ok(renew(&f));
    for (int round = 1; round <= 2; round++) {
        put(&f, "");
        for (int i = 0; i < 3; i++)
            assert_ok(renew(&f));
        assert_string_equal(f.url.password, "one");
        assert_int_equal(f.n_lines, round);
        put(&f, "one");
        assert_ok(renew(&f));
    }
    end(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_password_is_what_its_file_has_now),
        cmocka_unit_test(that_a_file_cannot_be_read_any_more_is_told_once_each_time),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
