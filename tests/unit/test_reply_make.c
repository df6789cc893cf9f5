/* SPDX-License-Identifier: MIT
 *
 * Answers that are made of others: texts are cut as the script `heads` cuts them, and what is taken over is freed once.
 */
#include "redis/reply_make.h"

#include <hiredis/hiredis.h>
#include <string.h>

#include "testing.h"

/* An answer in its own memory, as Redis sends it. */
static redisReply *heard(const char *text)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    redisReaderFeed(reader, text, strlen(text));
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static void assert_head(const redisReply *text, const char *head, uint64_t whole)
{
    uint64_t len;
    struct muster_bytes bytes = reply_head(text, &len);
    assert_int_equal(len, whole);
    assert_int_equal(bytes.len, strlen(head));
    assert_string_equal(bytes.data, head);
}

static void each_long_text_is_cut(void **state)
{
    (void)state;
    redisReply *all = heard("*4\r\n$3\r\nabc\r\n$4\r\nabcd\r\n:5\r\n*2\r\n$6\r\nabcdef\r\n$-1\r\n");
    assert_true(reply_cut(&all, 3));
    assert_head(reply_at(all, 0), "abc", 3);
    assert_head(reply_at(all, 1), "abc", 4);
    assert_int_equal(reply_integer(reply_at(all, 2)), 5);
    assert_head(reply_at(reply_at(all, 3), 0), "abc", 6);
    assert_int_equal(reply_kind(reply_at(reply_at(all, 3), 1)), REPLY_NIL);
    freeReplyObject(all);
    all = heard("$4\r\nabcd\r\n");
    assert_true(reply_cut(&all, 0));
    assert_head(all, "", 4);
    freeReplyObject(all);
    all = NULL;
    assert_true(reply_cut(&all, 3));
}

static void what_is_left_out_has_a_length(void **state)
{
    (void)state;
    redisReply *list = heard("*2\r\n$1\r\na\r\n$-1\r\n");
    assert_true(reply_put(list, 1, reply_left_out(1000000)));
    assert_head(reply_at(list, 0), "a", 1);
    assert_head(reply_at(list, 1), "", 1000000);
    assert_false(reply_put(list, 2, reply_left_out(1)));
    assert_false(reply_put(list, 0, NULL));
    assert_head(reply_at(list, 0), "a", 1);
    freeReplyObject(list);
}

static void lists_are_joined(void **state)
{
    (void)state;
    redisReply *list = reply_join(NULL, heard("*1\r\n$1\r\na\r\n"));
    list = reply_join(list, heard("*0\r\n"));
    list = reply_join(list, heard("*2\r\n$1\r\nb\r\n:3\r\n"));
    assert_int_equal(reply_len(list), 3);
    assert_string_equal(reply_text(reply_at(list, 0)), "a");
    assert_string_equal(reply_text(reply_at(list, 1)), "b");
    assert_int_equal(reply_integer(reply_at(list, 2)), 3);
    freeReplyObject(list);
}

static void names_and_values_are_paired(void **state)
{
    (void)state;
    redisReply *names = heard("*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
               *values = heard("*3\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n");
    redisReply *pairs = reply_pairs(names, values);
    assert_int_equal(reply_len(pairs), 4);
    assert_true(reply_is(reply_field(pairs, "a"), "1"));
    assert_true(reply_is(reply_field(pairs, "b"), "2"));
    freeReplyObject(pairs);
    freeReplyObject(names);
    freeReplyObject(values);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_long_text_is_cut),
        cmocka_unit_test(what_is_left_out_has_a_length),
        cmocka_unit_test(lists_are_joined),
        cmocka_unit_test(names_and_values_are_paired),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
