/* SPDX-License-Identifier: MIT
 *
 * Keys and channels: their texts, and that the longest of them fit. The live tests are about what the keys hold.
 */
#include <limits.h>
#include <string.h>

#include "protocol/keys.h"
#include "testing.h"

static char *name_of(char *out, char c, size_t len)
{
    memset(out, c, len);
    out[len] = '\0';
    return out;
}

static void each_key_has_its_text(void **state)
{
    static const struct {
        enum key key;
        const char *name, *text;
    } cases[] = {
        {KEY_ALIVE, "w", "p:alive:w"},
        {KEY_BATCH, "b-1", "p:batch:b-1"},
        {KEY_BATCHES, "", "p:batches"},
        {KEY_BEAT, "", "p:beat"},
        {KEY_COMPLETE, "q", "p:complete:q"},
        {KEY_CONFIG, "", "p:config"},
        {KEY_CRONS, "", "p:crons"},
        {KEY_DELAYED, "q", "p:delayed:q"},
        {KEY_DEPENDENCIES, "id-1", "p:dependencies:id-1"},
        {KEY_DEPENDENTS, "id-1", "p:dependents:id-1"},
        {KEY_DEPENDS, "q", "p:depends:q"},
        {KEY_DUE, "", "p:due"},
        {KEY_ENDED, "", "p:ended"},
        {KEY_FAILED, "q", "p:failed:q"},
        {KEY_FAILURES, "q", "p:failures:q"},
        {KEY_FIRSTS, "w:q", "p:firsts:w:q"},
        {KEY_FOLLOWERS, "id-1", "p:followers:id-1"},
        {KEY_FORMAT, "", "p:format"},
        {KEY_FREED, "did-1", "p:freed:did-1"},
        {KEY_GAPS, "q", "p:gaps:q"},
        {KEY_HELD, "q", "p:held:q"},
        {KEY_HISTORY, "id-1", "p:history:id-1"},
        {KEY_HOLDERS, "q", "p:holders:q"},
        {KEY_HOLDS, "h", "p:holds:h"},
        {KEY_HOME, "0123456789a:q", "p:home:0123456789a:q"},
        {KEY_IDLE, "q", "p:idle:q"},
        {KEY_JOB, "id-1", "p:job:id-1"},
        {KEY_KEYED, "q", "p:keyed:q"},
        {KEY_LEASES, "q", "p:leases:q"},
        {KEY_MARKS, "w", "p:marks:w"},
        {KEY_MEMBERS, "b-1", "p:members:b-1"},
        {KEY_MOVES, "q", "p:moves:q"},
        {KEY_NAMES, "", "p:names"},
        {KEY_NOTES, "w", "p:notes:w"},
        {KEY_PAST, "", "p:past"},
        {KEY_PROCESSING, "w:q", "p:processing:w:q"},
        {KEY_QUEUE, "q", "p:queue:q"},
        {KEY_QUEUES, "a:b*%s", "p:queues:a:b*%s"},
        {KEY_RECURRING, "q", "p:recurring:q"},
        {KEY_REGISTRY, "", "p:registry"},
        {KEY_REQUEST, "r 1", "p:request:r 1"},
        {KEY_RETURNED, "q", "p:returned:q"},
        {KEY_RUNNING, "q", "p:running:q"},
        {KEY_SCHEDULED, "q", "p:scheduled:q"},
        {KEY_STATS, "20000:q", "p:stats:20000:q"},
        {KEY_SUSPECTS, "q", "p:suspects:q"},
        {KEY_TAG, "a tag", "p:tag:a tag"},
        {KEY_TAGS, "", "p:tags"},
        {KEY_TAKE, "c:1", "p:take:c:1"},
        {KEY_TAKERS, "q", "p:takers:q"},
        {KEY_TIMER, "", "p:timer"},
        {KEY_TOKEN, "", "p:token"},
        {KEY_TRACKED, "", "p:tracked"},
        {KEY_TTLS, "", "p:ttls"},
        {KEY_UPGRADE, "id-1", "p:upgrade:id-1"},
        {KEY_WAITING, "q", "p:waiting:q"},
        {KEY_WORKER, "w", "p:worker:w"},
    };
    char key[KEY_MAX];
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        if (cases[i].key != (enum key)i)
            fail_msg("%s stands where another key is due: each key needs its row, in the order of KEYS", cases[i].text);
        assert_int_equal(key_of(key, "p", cases[i].key, cases[i].name), strlen(cases[i].text));
        assert_string_equal(key, cases[i].text);
    }
    if (N_OF(cases) != KEY_COUNT)
        fail_msg("%d keys have a row here, KEYS has %d", (int)N_OF(cases), KEY_COUNT);
    assert_int_equal(key_root(key, "{p}"), 4);
    assert_string_equal(key, "{p}:");
    assert_int_equal(key_processing(key, "p", "w", "a:b"), 18);
    assert_string_equal(key, "p:processing:w:a:b");
}

/* In database 0 they are what they were before channels told their database: foreign producers know them so. */
static void a_channel_begins_with_prefix_and_database(void **state)
{
    const struct {
        int db;
        const char *root, *work, *delete, *wake, *events;
    } cases[] = {
        {0, "p", "p_q_work", "p_a:b_delete", "p:wake:w", "p:events"},
        {1, "p@1", "p@1_q_work", "p@1_a:b_delete", "p@1:wake:w", "p@1:events"},
        {1000000, "p@1000000", "p@1000000_q_work", "p@1000000_a:b_delete", "p@1000000:wake:w", "p@1000000:events"},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        char root[CHANNELS_MAX], channel[CHANNEL_MAX];
        assert_int_equal(key_channels(root, "p", cases[i].db), strlen(cases[i].root));
        assert_string_equal(root, cases[i].root);
        assert_int_equal(key_channel(channel, root, "q", CHANNEL_WORK), strlen(cases[i].work));
        assert_string_equal(channel, cases[i].work);
        assert_int_equal(key_channel(channel, root, "a:b", CHANNEL_DELETE), strlen(cases[i].delete));
        assert_string_equal(channel, cases[i].delete);
        assert_int_equal(key_wake(channel, root, "w"), strlen(cases[i].wake));
        assert_string_equal(channel, cases[i].wake);
        assert_int_equal(key_events(channel, root), strlen(cases[i].events));
        assert_string_equal(channel, cases[i].events);
    }
}

static void the_longest_names_fit(void **state)
{
    char prefix[MUSTER_PREFIX_MAX + 1], worker[MUSTER_WORKER_ID_MAX + 1], queue[MUSTER_QUEUE_MAX + 1];
    char key[KEY_MAX], root[CHANNELS_MAX], channel[CHANNEL_MAX];
    (void)state;
    name_of(prefix, 'p', MUSTER_PREFIX_MAX);
    name_of(worker, 'w', MUSTER_WORKER_ID_MAX);
    name_of(queue, 'q', MUSTER_QUEUE_MAX);

    size_t len = key_processing(key, prefix, worker, queue);
    assert_int_equal(len, 64 + strlen(":processing:") + 64 + 1 + 200);
    assert_int_equal(strlen(key), len);
    assert_true(len < KEY_MAX);
    assert_int_equal(key_channels(root, prefix, INT_MAX), 64 + strlen("@2147483647"));
    assert_string_equal(root + 64, "@2147483647");
    static const char *const whats[] = {CHANNEL_WORK, CHANNEL_CANCEL, CHANNEL_DELETE, CHANNEL_DONE};
    for (size_t i = 0; i < N_OF(whats); i++) {
        assert_int_equal(key_channel(channel, root, queue, whats[i]), 75 + 1 + 200 + 1 + strlen(whats[i]));
        assert_string_equal(channel + strlen(channel) - strlen(whats[i]), whats[i]);
    }
    for (int i = 0; i < KEY_COUNT; i++) {
        len = key_of(key, prefix, (enum key)i, queue);
        assert_int_equal(strlen(key), len);
        assert_int_equal(key[strlen(key) - 1], 'q');
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_has_its_text),
        cmocka_unit_test(a_channel_begins_with_prefix_and_database),
        cmocka_unit_test(the_longest_names_fit),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
