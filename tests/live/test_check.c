/* SPDX-License-Identifier: MIT
 *
 * Check: each kind of damage, planted with raw commands, is found at its key and at no other; looking changes nothing;
 * a repair puts it right and loses no task; afterwards a check finds nothing. Damage of jobs: test_check_jobs.c. A live
 * system: test_check_live.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "damage.h"
#include "live_worker.h"
#include "script_call.h"

#define AN_HOUR 3600000

/* As if tokens had been drawn, for a namespace in which nobody took anything. */
static void draw(struct redisContext *redis, const char *prefix)
{
    raw_do(redis, "SET %s:token 00000vvvvvv", prefix);
}

/* All tasks, wherever they are, sorted. */
static char *all_tasks(struct scene *s)
{
    static const char script[] =
        "local P, tasks, cursor, keys = KEYS[1], {}, '0', {}\n"
        "local function add(list) for _, task in ipairs(list) do tasks[#tasks + 1] = task end end\n"
        "repeat\n"
        "  local page = redis.call('SCAN', cursor, 'MATCH', P .. ':*', 'COUNT', 1000)\n"
        "  cursor = page[1]\n"
        "  for _, key in ipairs(page[2]) do keys[key] = string.match(string.sub(key, #P + 2), '^%a+:') end\n"
        "until cursor == '0'\n"
        "for key, kind in pairs(keys) do\n"
        "  if kind == 'queues:' then add(redis.call('LRANGE', key, 0, -1))\n"
        "  elseif kind == 'processing:' or kind == 'home:' then add(redis.call('HVALS', key))\n"
        "  elseif kind == 'delayed:' or kind == 'failed:' then\n"
        "    for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do add({string.match(member, '%a*$')}) end\n"
        "  end\n"
        "end\n"
        "table.sort(tasks)\n"
        "return tasks\n";
    return raw_string(s->server->redis, "EVAL %s 1 %s", script, s->prefix);
}

/* ---- a namespace with something of everything ---- */

static int keep_id(const struct muster_process_info *process, void *arg)
{
    snprintf(arg, 512, "%s", process->id);
    return 1;
}

static void lease(struct scene *s, const char *queue, const char *task, char id[512])
{
    scene_enqueue(s, queue, task);
    assert_ok(muster_lease_take(s->client, queue, 1, AN_HOUR, 0, keep_id, id));
}

static struct live_worker *holder(struct scene *s, const char *id, int hands)
{
    return live_worker_idle(s, &(struct worker_spec){.id = id,
                                                     .ttl_ms = AN_HOUR,
                                                     .hands = hands,
                                                     .answer = MUSTER_LATER,
                                                     .stubborn = true,
                                                     .queues = {{"q", 0}, {"empty", 0}}});
}

/* "w" holds "alpha" and "beta", which is cancelled, and has a hand free; nothing moves by itself for an hour. */
static void furnish(struct scene *s)
{
    char id[512];
    holder(s, "w", 3);
    scene_enqueue(s, "q", "alpha");
    scene_enqueue(s, "q", "beta");
    scene_await_starts(s, 2);
    assert_ok(muster_task_cancel(s->client, "q", "beta", 4, NULL, NULL));
    lease(s, "leased", "gamma", id);
    const struct muster_extend_options note = {.size = sizeof note, .progress = "half"};
    assert_ok(muster_lease_extend(s->client, id, &note));
    lease(s, "late", "delta", id);
    assert_ok(muster_lease_retry(s->client, id, AN_HOUR));
    lease(s, "bad", "epsilon", id);
    assert_ok(muster_lease_fail(s->client, id, "group", "message"));
    assert_ok(muster_queue_pause(s->client, "paused"));
    scene_enqueue(s, "paused", "zeta");
    const struct muster_enqueue_options request = {.size = sizeof request, .request_id = "r"};
    assert_ok(muster_task_enqueue_many(s->client, "paused", &(struct muster_bytes){"eta", 3}, 1, &request, NULL));
}

static void a_full_house_is_clean(void **state)
{
    furnish(*state);
    checked_assert_clean(*state);
}

/* ---- each kind of damage ---- */

static const struct damage damages[] = {
    /* sets */
    {"call('HSET', P .. 'processing:nobody:q', '00000000001', 'stray', '00000000002', 'stray')",
     "processing:nobody:q "},
    {"call('HSET', P .. 'processing:nobody:new', ('f'):rep(40), 'stray', ('e'):rep(40), 'stray')",
     "processing:nobody:new "},
    {"call('HSET', P .. 'processing:w:other', '00000000001', 'stray')", "processing:w:other "},
    {"call('HSET', P .. 'worker:w', 'q:left', '-') call('HSET', P .. 'processing:w:left', '00000000001', 'stray')",
     "processing:w:left "},
    {"call('HSET', P .. 'processing:w:q', 'odd', 'stray')", "processing:w:q "},
    {"call('HSET', P .. 'processing:w:q', 'vvvvvvvvvvv', 'stray')", "processing:w:q "},
    {"call('HSET', P .. 'processing:.lease:leased', '', 'stray')", "processing:.lease:leased "},
    /* the registry and the record */
    {"call('ZREM', P .. 'registry', 'w')", "worker:w "},
    {"call('DEL', P .. 'registry', P .. 'alive:w')", "worker:w "},
    {"call('ZADD', P .. 'registry', '+inf', 'w')", "worker:w "},
    {"call('ZREM', P .. 'ttls', 'w')", "worker:w "},
    {"call('ZADD', P .. 'ttls', 1, 'w')", "worker:w "},
    {"call('ZADD', P .. 'registry', 1, 'ghost') call('ZADD', P .. 'ttls', 1, 'ghost')", "registry ttls "},
    {"call('ZADD', P .. 'registry', 1, 'no\\tid')", "registry "},
    {"call('HDEL', P .. 'worker:w', 'epoch')", "worker:w "},
    {"call('HDEL', P .. 'worker:w', 'ttl')", "worker:w "},
    {"call('HDEL', P .. 'worker:w', 'hands')", "worker:w "},
    {"call('HDEL', P .. 'worker:w', 'held')", "worker:w "},
    {"call('HDEL', P .. 'worker:w', 'conn')", "worker:w "},
    {"call('HSET', P .. 'worker:w', 'q:q', 'many')", "worker:w "},
    {"call('HINCRBY', P .. 'worker:w', 'held', 5)", "worker:w "},
    {"call('HINCRBY', P .. 'worker:w', 'held', -1)", "worker:w "},
    /* liveness */
    {"call('SET', P .. 'alive:ghost', 'x', 'PX', 3600000)", "alive:ghost "},
    {"call('SET', P .. 'alive:w', 'x', 'KEEPTTL')", "alive:w "},
    {"call('PERSIST', P .. 'alive:w')", "alive:w "},
    /* the idle */
    {"call('ZADD', P .. 'idle:q', 1, 'ghost')", "idle:q "},
    {"call('ZADD', P .. 'idle:leased', 1, 'w')", "idle:leased "},
    {"call('LPUSH', P .. 'queues:q', 'pushed')", "queues:q "},
    /* marks and notes */
    {"call('HSET', P .. 'marks:w', '00000000001', 'c')", "marks:w "},
    {"call('HSET', P .. 'notes:ghost', '00000000001', 'x')", "notes:ghost "},
    {"call('HSET', P .. 'marks:.lease', '00000000001', 'd', '00000000002', 'c')", "marks:.lease "},
    {"call('HDEL', P .. 'worker:w', 'flag')", "worker:w "},
    /* counters and times */
    {"call('HINCRBY', P .. 'queue:q', 'running', 3)", "queue:q "},
    {"call('HDEL', P .. 'queue:leased', 'running')", "queue:leased "},
    {"call('HSET', P .. 'queue:nothing', 'running', 1)", "queue:nothing "},
    {"call('HDEL', P .. 'queue:late', 'due')", "queue:late "},
    {"call('HSET', P .. 'queue:leased', 'due', '99999999999999')", "queue:leased "},
    {"call('HSET', P .. 'queue:late', 'due', 'soon')", "queue:late "},
    {"call('ZADD', P .. 'leases:leased', '99999999999999', '00000000001')", "leases:leased "},
    {"call('DEL', P .. 'leases:leased')", "processing:.lease:leased "},
    {"call('DEL', P .. 'leases:leased') call('ZADD', P .. 'leases:leased', '99999999999999', '00000000001')",
     "leases:leased processing:.lease:leased "},
    {"call('HSET', P .. 'holders:leased', '00000000001', 'h')", "holders:leased "},
    {"call('ZADD', P .. 'holds:h', 0, '00000000001:leased', 0, '00000000001:nothing')", "holds:h "},
    {"call('HSET', P .. 'holders:leased', call('HKEYS', P .. 'processing:.lease:leased')[1], 'h')", "holders:leased "},
    {"call('HINCRBY', P .. 'failures:bad', 'bytes', 5)", "failures:bad "},
    {"call('DEL', P .. 'failures:bad')", "failures:bad "},
    {"call('HSET', P .. 'failures:none', 'g:group', 1)", "failures:none "},
    /* what came back, and suspects */
    {"call('HSET', P .. 'suspects:q', '00000000001', '0')", "suspects:q "},
    {"call('HSET', P .. 'home:-:q', '00000000001', 'back')", "home:-:q "},
    {"call('HSET', P .. 'home:-:paused', '00000000001', 'back')\n"
     "call('ZADD', P .. 'returned:paused', 1, '00000000001:-')",
     "queue:paused "},
    {"call('ZADD', P .. 'returned:paused', 1, '00000000001:-') call('HSET', P .. 'queue:paused', 'returned', 1)",
     "returned:paused "},
    {"call('ZREM', P .. 'names', 'paused')", "queue:paused "},
    {"call('PERSIST', P .. 'request:r')", "request:r "},
    /* tokens */
    {"call('DEL', P .. 'token')", "token "},
    {"call('SET', P .. 'token', '00000000001')", "token "},
    {"call('SET', P .. 'token', 'nonsense')", "token "},
    {"call('SET', P .. 'token', '80000000000')", "token "},
    /* a cleaner that pops what it should only read: an entry of a set is gone, and what waited is in the set instead */
    {"call('HDEL', P .. 'queue:paused', 'paused')\n"
     "for i, task in ipairs(call('LRANGE', P .. 'queues:paused', 0, -1)) do call('HSET', P .. 'processing:w:q', i, "
     "task) end\n"
     "call('DEL', P .. 'queues:paused')",
     "processing:w:q "},
    {"call('HDEL', P .. 'processing:w:q', call('HKEYS', P .. 'processing:w:q')[1])", "worker:w queue:q "},
};

/* Tasks that are given back go on, except "beta", which was cancelled. */
static const struct damage_house house = {.furnish = furnish, .inventory = all_tasks, .may_go = "beta\n"};

/* ---- what is left to people ---- */

/* Every kind of key with a wrong type, and some of no kind; all of it stays as it is. */
static const char wrong_types[] =
    "for i, key in ipairs({'alive:w', 'beat', 'delayed:q', 'failed:q', 'failures:q', 'gaps:q', 'home:-:q', 'idle:q', "
    "'leases:q',\n"
    "    'complete:q', 'config', 'crons', 'dependencies:j', 'dependents:j', 'depends:q', 'due', 'followers:j', "
    "'history:j', 'holders:q', 'holds:h', "
    "'recurring:q',\n"
    "    'returned:q', 'running:q', 'suspects:q', 'scheduled:q', 'stats:1:q', 'tag:t', 'tags', 'timer', 'tracked', "
    "'waiting:q', 'events', "
    "'stats:q',\n"
    "    'marks:w', 'moves:q', 'names', 'notes:w', 'processing:.lease:q', 'processing:nobody:q', 'processing:w:q', "
    "'queue:q',\n"
    "    'queues:q', 'registry', 'request:r', 'token', 'ttls', 'worker:w', 'Queues:q', 'alive', 'job:1', 'names:q',\n"
    "    'processing:w', 'processing:.w:q', 'queues:', 'queues:a\\nb', 'wake:w', 'worker:.lease', 'worker:a b'}) do\n"
    "  call('XADD', P .. key, '*', 'field', 'value')\n"
    "end";
static const char wrong_keys[] =
    "Queues:q alive alive:w beat complete:q config crons delayed:q dependencies:j dependents:j depends:q due "
    "events "
    "failed:q failures:q followers:j gaps:q history:j holders:q holds:h home:-:q idle:q job:1 leases:q marks:w moves:q "
    "names names:q "
    "notes:w "
    "processing:.lease:q "
    "processing:.w:q processing:nobody:q processing:w processing:w:q queue:q queues: queues:a\\x0ab queues:q "
    "recurring:q "
    "registry request:r returned:q running:q scheduled:q stats:1:q stats:q suspects:q tag:t tags timer token tracked "
    "ttls waiting:q wake:w "
    "worker:.lease worker:a b worker:w ";

static void keys_of_a_wrong_type_or_kind_are_left_to_people(void **state)
{
    struct scene *s = *state;
    damage_plant(s, wrong_types);
    checked_assert_left_alone(s, wrong_keys);
    raw_do(s->server->redis, "FLUSHDB");
}

static void assert_found_alone(struct scene *s, const char *key)
{
    struct checked found = checked_find(s);
    if (!strstr(found.keys, key) || found.n_repaired > 0)
        fail_msg("%s is not found: %s", key, found.what);
}

static void change_nothing(struct scene *s)
{
    (void)s;
}

/* Each key of the furnished namespace in turn has a wrong type. The others are still looked at, nothing raises, and
 * afterwards the damage can be put right. */
static void one_key_of_a_wrong_type_does_not_end_a_check(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, "call('HSET', P .. 'processing:nobody:other', '00000000001', 'stray')");
    damage_each_key(s, assert_found_alone, change_nothing);
    assert_int_equal(checked_repair(s).n_repaired, 1);
}

static void a_damaged_queue_does_not_keep_what_cannot_go_back_there(void **state)
{
    struct scene *s = *state;
    draw(s->server->redis, s->prefix);
    damage_plant(
        s, "call('SET', P .. 'queues:q', 'text') call('HSET', P .. 'processing:nobody:q', '00000000001', 'stray')\n"
           "call('HSET', P .. 'processing:nobody:other', '00000000001', 'stray')");
    struct checked found = checked_repair(s);
    assert_string_equal(found.keys, "queues:q processing:nobody:other processing:nobody:q ");
    assert_int_equal(found.n_repaired, 1);
    assert_non_null(strstr(found.what, "while"));
    raw_do(s->server->redis, "DEL %s:queues:q", s->prefix);
    assert_int_equal(checked_repair(s).n_repaired, 1);
    assert_int_equal(scene_waiting(s, "q"), 1);
}

static void a_malformed_failure_is_left_to_people(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, "call('ZADD', P .. 'failed:bad', 1, 'stray')");
    struct checked found = checked_repair(s);
    assert_string_equal(found.keys, "failed:bad failures:bad ");
    assert_int_equal(found.n_repaired, 1);
    found = checked_repair(s);
    assert_string_equal(found.keys, "failed:bad ");
    damage_plant(s, "call('ZREM', P .. 'failed:bad', 'stray')");
    checked_repair(s);
}

/* ---- how it is put right ---- */

static void what_nobody_owns_goes_to_the_front_in_order_without_what_was_cancelled(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "last");
    draw(s->server->redis, s->prefix);
    damage_plant(s,
                 "for i = 2500, 1, -1 do call('HSET', P .. 'processing:nobody:q', string.format('%011d', i), i) end\n"
                 "call('HSET', P .. 'marks:nobody', '00000000002', 'c', '00000000003', 'd')");
    struct checked found = checked_find(s);
    assert_string_equal(found.keys, "processing:nobody:q ");
    found = checked_repair(s);
    assert_string_equal(found.keys, "processing:nobody:q ");
    char *tasks = waiting_tasks(s, "q");
    bool in_order = !strncmp(tasks, "1 4 5 6 7 ", 10) && !strcmp(tasks + strlen(tasks) - 10, "2500 last ");
    free(tasks);
    assert_true(in_order);
    assert_int_equal(scene_waiting(s, "q"), 2500 - 2 + 1);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:marks:nobody", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q cancelled", s->prefix), 1);
}

static void what_is_put_right_goes_on(void **state)
{
    struct scene *s = *state;
    holder(s, "w", 3);
    damage_plant(s, "call('HSET', P .. 'processing:nobody:q', '00000000001', 'orphan')");
    assert_int_equal(checked_repair(s).n_repaired, 1);
    scene_await_starts(s, 1);
    raw_push(s->server->redis, "away", "pushed", 6);
    raw_do(s->server->redis, "RENAME away %s:queues:q", s->prefix);
    assert_int_equal(checked_repair(s).n_repaired, 1);
    scene_await_starts(s, 2);
    damage_plant(s, "call('HDEL', P .. 'worker:w', 'ttl')");
    assert_int_equal(checked_repair(s).n_repaired, 1);
    live_worker_new(s, &(struct worker_spec){.id = "heir", .ttl_ms = AN_HOUR, .hands = 3, .queues = {{"q", 0}}});
    scene_await_starts(s, 4);
    scene_assert_started(s, 0, (const char *[]){"orphan", "pushed", "orphan", "pushed", NULL});
}

/* Nothing but the count held it up. */
static void what_a_wrong_count_held_up_goes_on(void **state)
{
    struct scene *s = *state;
    holder(s, "w", 3);
    damage_plant(s, "call('HSET', P .. 'queue:q', 'max_running', 2, 'running', 2)");
    scene_enqueue(s, "q", "held up");
    assert_int_equal(scene_waiting(s, "q"), 1);
    assert_int_equal(checked_repair(s).n_repaired, 1);
    assert_int_equal(scene_waiting(s, "q"), 0);
    scene_await_starts(s, 1);
    checked_assert_clean(s);
}

static void more_than_a_page_of_each_is_looked_at(void **state)
{
    struct scene *s = *state;
    damage_plant(s, "for i = 1, 250 do\n"
                    "  local token = string.format('%011d', i)\n"
                    "  call('ZADD', P .. 'idle:q', i, 'ghost' .. i)\n"
                    "  call('ZADD', P .. 'leases:a', '99999999999999', token)\n"
                    "  call('HSET', P .. 'processing:.lease:b', token, i)\n"
                    "  call('HSET', P .. 'marks:w', token, 'c')\n"
                    "end\n"
                    "call('HSET', P .. 'queue:b', 'running', 250)");
    checked_repair(s);
    checked_assert_clean(s);
    assert_int_equal(
        raw_int(s->server->redis, "EXISTS %s:idle:q %s:leases:a %s:marks:w", s->prefix, s->prefix, s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:leases:b", s->prefix), 250);
}

static void a_full_redis_is_put_right_too(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, "call('HSET', P .. 'processing:nobody:q', '00000000001', 'stray') call('DEL', P .. 'token')\n"
                    "call('HSET', P .. 'queue:late', 'due', 'soon') call('HINCRBY', P .. 'failures:bad', 'bytes', 5)\n"
                    "call('ZREM', P .. 'registry', 'w') call('DEL', P .. 'leases:leased')");
    assert_int_equal(checked_repair_when_full(s).n, 6);
}

/* ---- how far it looks ---- */

static void it_ends_when_enough_is_found(void **state)
{
    struct scene *s = *state;
    damage_plant(
        s, "call('SET', P .. 'a', 1) call('SET', P .. 'b', 1) call('ZADD', P .. 'registry', 1, 'ghost1', 2, 'ghost2')");
    for (int enough = 1; enough <= 4; enough++) {
        struct checked found = {.prefix = s->prefix, .enough = enough};
        assert_ok(muster_client_check(s->client, 0, checked_note, &found));
        assert_int_equal(found.n, enough);
    }
    raw_do(s->server->redis, "DEL %s:a %s:b %s:registry", s->prefix, s->prefix, s->prefix);
}

static void other_namespaces_are_not_looked_at(void **state)
{
    struct scene *s = *state;
    char before[41], after[41];
    raw_do(s->server->redis, "SET %s text", s->prefix);
    raw_do(s->server->redis, "SET %s_x:queues:q text", s->prefix);
    raw_do(s->server->redis, "HSET %s_:processing:nobody:q 00000000001 lost", s->prefix);
    raw_do(s->server->redis, "HSET x%s:processing:nobody:q 00000000001 lost", s->prefix);
    raw_do(s->server->redis, "HSET %s{}:processing:nobody:q 00000000001 lost", s->prefix);
    redis_server_digest(s->server, before);
    assert_int_equal(checked_repair(s).n, 0);
    redis_server_digest(s->server, after);
    assert_string_equal(before, after);
}

static void a_hash_tag_is_a_prefix_like_any_other(void **state)
{
    struct scene *s = *state;
    struct muster_client *client;
    const struct muster_client_options o = {.size = sizeof o, .url = s->server->url, .prefix = "{mail}"};
    assert_ok(muster_client_new(&client, &o));
    draw(s->server->redis, "{mail}");
    raw_do(s->server->redis, "HSET {mail}:processing:nobody:q 00000000001 lost");
    struct checked found = checked_with(client, "{mail}", CHECKED_REPAIR);
    struct checked left = checked_with(client, "{mail}", CHECKED_FIND);
    muster_client_free(client);
    assert_string_equal(found.keys, "processing:nobody:q ");
    assert_int_equal(left.n, 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD {mail}:returned:q"), 1);
}

static void ten_thousand_keys_are_looked_at_in_small_steps(void **state)
{
    struct scene *s = *state;
    enum { KEYS = 10000 };
    draw(s->server->redis, s->prefix);
    damage_plant(
        s, "for i = 1, 8000 do call('HSET', P .. 'request:' .. i, '1', 'x') call('PEXPIRE', P .. 'request:' .. i, "
           "3600000) end\n"
           "for i = 1, 2000 do call('LPUSH', P .. 'queues:' .. i, 'task') end\n"
           "call('HSET', P .. 'processing:nobody:7', '00000000001', 'lost')");
    int64_t scans = redis_server_calls(s->server, "scan"), types = redis_server_calls(s->server, "evalsha");
    struct checked found = checked_find(s);
    scans = redis_server_calls(s->server, "scan") - scans;
    types = redis_server_calls(s->server, "evalsha") - types;
    assert_string_equal(found.keys, "processing:nobody:7 ");
    assert_in_range(scans, KEYS / 1000, KEYS / 10);
    assert_in_range(types, KEYS / 100 + 2000, KEYS / 100 + 3 * 2000 + 10);
    checked_repair(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest cases[] = {
        live_test(a_full_house_is_clean),
        live_test(keys_of_a_wrong_type_or_kind_are_left_to_people),
        live_test(one_key_of_a_wrong_type_does_not_end_a_check),
        live_test(a_damaged_queue_does_not_keep_what_cannot_go_back_there),
        live_test(a_malformed_failure_is_left_to_people),
        live_test(what_nobody_owns_goes_to_the_front_in_order_without_what_was_cancelled),
        live_test(what_is_put_right_goes_on),
        live_test(what_a_wrong_count_held_up_goes_on),
        live_test(more_than_a_page_of_each_is_looked_at),
        live_test(a_full_redis_is_put_right_too),
        live_test(it_ends_when_enough_is_found),
        live_test(other_namespaces_are_not_looked_at),
        live_test(a_hash_tag_is_a_prefix_like_any_other),
        live_test(ten_thousand_keys_are_looked_at_in_small_steps),
    };
    return damage_run(&house, damages, N_OF(damages), cases, N_OF(cases), scene_end, argc, argv);
}
