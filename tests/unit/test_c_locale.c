/* SPDX-License-Identifier: MIT
 *
 * A program that has set a locale reads the same as any other. That no other source asks the locale, house/test_lists.sh
 * sees.
 */
#include "base/c_locale.h"

#include <ctype.h>
#include <muster/cron.h>
#include <stdlib.h>
#include <string.h>

#include "client/server_info.h"
#include "locales.h"
#include "testing.h"

static int clear(void **state)
{
    (void)state;
    locales_clear();
    return 0;
}

static void a_comma_is_no_point(void **state)
{
    struct muster_server_info s = {0};
    (void)state;
    if (!locales_set(LOCALE_COMMA))
        skip();
    assert_true(strtod("1.5", NULL) < 1.5); /* else this proves nothing */
    assert_true(c_locale_real("1.5e15") > 1e15);
    server_info_read(&s, "redis_version:7.0.15\r\nused_cpu_sys:1.250000\r\nused_cpu_user:2.500000\r\n");
    assert_int_equal(s.cpu_ms, 3750);
}

static void an_i_is_an_i(void **state)
{
    static const char *const schedules[] = {"0 0 * * FRI", "0 0 * * fri",    "0 0 * * FriL", "0 0 * APR-JUN *",
                                            "@DAILY",      "@Midnight",      "@WEEKLY",      "0 0 L * *",
                                            "0 0 l * *",   "0 0 * * sun-FRI"};
    (void)state;
    if (!locales_set(LOCALE_DOTLESS))
        skip();
    assert_int_not_equal(tolower('I'),
                         'i'); /* else this proves nothing; AddressSanitizer has a strcasecmp() of its own */
    for (size_t i = 0; i < N_OF(schedules); i++)
        if (muster_cron_check(schedules[i]))
            fail_msg("%s: %s", schedules[i], muster_cron_check(schedules[i]));
    assert_non_null(muster_cron_check("0 0 * * FRX"));
    assert_non_null(muster_cron_check("@DAILYS"));
    assert_non_null(muster_cron_check("@DAIL"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_comma_is_no_point, clear),
        cmocka_unit_test_teardown(an_i_is_an_i, clear),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
