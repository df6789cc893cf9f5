/* SPDX-License-Identifier: MIT
 *
 * Histograms of times: which bucket a time is counted in, and that the bounds are those of a queue's statistics in
 * Redis.
 */
#include "base/figures.h"

#include <muster/job.h>

#include "testing.h"

static struct muster_histogram measured(int64_t us)
{
    struct figure_times times = {0};
    struct muster_histogram h;
    figures_add_time(&times, us);
    figures_read_times(&times, &h);
    return h;
}

static void assert_bucket(int64_t us, int bucket)
{
    struct muster_histogram h = measured(us);
    assert_int_equal(h.n, 1);
    assert_int_equal(h.sum_us, us > 0 ? us : 0);
    for (int i = 0; i < MUSTER_HISTOGRAM_BUCKETS; i++)
        if (h.buckets[i] != (i == bucket))
            fail_msg("%lld us: bucket %d has %llu", (long long)us, i, (unsigned long long)h.buckets[i]);
}

static void a_time_is_in_the_first_bucket_whose_bound_is_above_it(void **state)
{
    (void)state;
    for (int i = 0; i < MUSTER_HISTOGRAM_BUCKETS - 1; i++) {
        int64_t bound_us = muster_histogram_bound_us(i);
        assert_bucket(bound_us - 1, i);
        assert_bucket(bound_us, i + 1);
    }
    assert_bucket(0, 0);
    assert_bucket(INT64_MAX, MUSTER_HISTOGRAM_BUCKETS - 1);
}

static void a_negative_time_counts_as_none(void **state)
{
    (void)state;
    assert_bucket(-5, 0);
}

static void the_last_bucket_and_numbers_beyond_have_no_bound(void **state)
{
    (void)state;
    assert_int_equal(muster_histogram_bound_us(MUSTER_HISTOGRAM_BUCKETS - 1), -1);
    assert_int_equal(muster_histogram_bound_us(MUSTER_HISTOGRAM_BUCKETS), -1);
    assert_int_equal(muster_histogram_bound_us(-1), -1);
}

static void from_a_millisecond_on_the_bounds_are_those_of_the_statistics_in_redis(void **state)
{
    int in_redis = 0;
    (void)state;
    for (int i = 0; i < MUSTER_HISTOGRAM_BUCKETS - 1; i++)
        if (muster_histogram_bound_us(i) >= 1000) {
            assert_int_equal(muster_histogram_bound_us(i), (1LL << in_redis) * 1000);
            in_redis++;
        }
    assert_true(in_redis > 20 && in_redis < MUSTER_STATS_BUCKETS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_in_the_first_bucket_whose_bound_is_above_it),
        cmocka_unit_test(a_negative_time_counts_as_none),
        cmocka_unit_test(the_last_bucket_and_numbers_beyond_have_no_bound),
        cmocka_unit_test(from_a_millisecond_on_the_bounds_are_those_of_the_statistics_in_redis),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
