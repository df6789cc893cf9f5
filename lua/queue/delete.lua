--[[
  delete: delete a queue, with its settings and with what waits, is delayed or has failed. Its processes are marked, and
  their holders are told: a marked process may still finish; if it ends in any other way, it is dropped. So nothing
  brings the queue back.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue
  Returns {0, how many tasks and jobs it removed that were still to run (they waited, were delayed, scheduled or
  depended), how many run, 1: there are more jobs, call again}; {E_REDIS, key} for a key of the wrong type: nothing was
  changed. What is under a lease that is over counts as removed: it is dropped when it is moved. A call deletes at most
  300 jobs, with their records, and if any of these have failed, 300 failures or 4 MiB of them. A job that waits for one
  of them fails. The followers that batches put into the queue by this go with it.
  Writes the marks and flags of the holders. Deletes what waits, came back, is delayed or has failed, the queue's jobs
  but those that run, and its settings and counters but `running`, `hands`, `joined`, `moves`, `due`, `listen`, `out`.
  Publishes to the holders and to those who listen. O(processes of the queue, 300 jobs).
]]
--- @include "marks"
--- @include "chunk"
--- @include "due"
--- @include "announce"
--- @include "lapsed"
--- @include "clock"
--- @include "whole"

local P, queue = KEYS[1], ARGV[1]
local key = P .. 'queue:' .. queue
local JOBS_MAX = 300

local function has_jobs()
  return redis.call('EXISTS', P .. 'returned:' .. queue, P .. 'scheduled:' .. queue, P .. 'depends:' .. queue,
    P .. 'waiting:' .. queue, P .. 'held:' .. queue,
    P .. 'recurring:' .. queue, P .. 'complete:' .. queue, P .. 'failed:' .. queue) > 0
end
local settings = try('HMGET', key, 'listen', 'broadcast', 'out', 'hands', 'joined', 'moves')
-- Have the homes of what forget_returned() will remove the right type?
local function are_homes_sound()
  local returned, is_known = P .. 'returned:' .. queue, {}
  local members = try('ZREVRANGEBYSCORE', returned, '(0', '-inf', 'LIMIT', 0, JOBS_MAX) or {}
  members = #members < JOBS_MAX and try('ZRANGE', returned, 0, -1) or members
  for _, member in ipairs(members) do
    local home = select(2, parse_returned(member)) or NO_HOME
    if not is_known[home] and not try('HLEN', home_key(P, home, queue)) then
      return false
    end
    is_known[home] = true
  end
  return true
end
local is_sound = can_move_due(P, queue) and are_homes_sound() and try('ZCARD', P .. 'names')
  and (not has_jobs() or Jobs.are_sound(P, queue))
local held, running = {}, 0
for _, worker in ipairs(all_holders(P)) do
  local tokens = {}
  for _, set in ipairs(keys_of_holder(P, worker, queue)) do
    for _, field in ipairs(try('HKEYS', set) or {}) do
      tokens[#tokens + 1] = field
    end
  end
  is_sound = is_sound and (#tokens == 0 or can_mark(P, worker))
  held[worker] = tokens
  running = running + #tokens
end
if not is_sound or damaged then
  return {E_REDIS, damaged}
end

redis.call('HDEL', key, '-') -- needs no memory, so that a full Redis allows the others

-- Forgets failed jobs, with the entries of the list that come before them, at most `left` entries. Returns whether
-- there are more. Without failed jobs the list can go as a whole.
local function forget_failures(left)
  local bytes = 0
  while Failed.has_jobs(P, queue) do
    if left <= 0 or bytes >= PAGE_BYTES then
      return true
    end
    local member, entry = Failed.oldest(P, queue, '-inf')
    Failed.forget(P, queue, member, entry, '')
    left, bytes = left - 1, bytes + #member
  end
  return false
end

-- Returns whether there are more, and how many of the deleted jobs were still to run. Jobs that depend go first, and of
-- these the last ones, which mostly wait for those before: else they would fail because a job that they wait for is
-- deleted too.
local function forget_jobs()
  local left, waited = JOBS_MAX, 0
  for _, state in ipairs({'depends', 'scheduled', 'held', 'waiting', 'complete', 'recurring'}) do
    local members = redis.call(state == 'depends' and 'ZREVRANGE' or 'ZRANGE', Jobs.index(P, state, queue), 0, left - 1)
    for _, member in ipairs(state == 'depends' and members or {}) do
      Jobs.remove_dependencies(P, Jobs.id_of(member))
    end
    for _, member in ipairs(members) do
      local job = Jobs.read_head(P, Jobs.id_of(member))
      if job and job.state == state and Jobs.member(job) == member then
        Jobs.forget(P, job)
      else
        redis.call('ZREM', Jobs.index(P, state, queue), member)
      end
    end
    left = left - #members
    waited = waited + ((state == 'complete' or state == 'recurring') and 0 or #members)
    if left <= 0 then
      return true, waited
    end
  end
  return forget_failures(left), waited
end

-- What came back. Jobs are deleted like others, and count as jobs.
local function forget_returned()
  local waited, homes = 0, {}
  local jobs = redis.call('ZREVRANGEBYSCORE', P .. 'returned:' .. queue, '(0', '-inf', 'LIMIT', 0, JOBS_MAX)
  for _, member in ipairs(jobs) do
    local field, home = parse_returned(member)
    field, home = field or '', home or NO_HOME
    local job = Jobs.read_held(P, redis.call('HGET', home_key(P, home, queue), field) or '', token_of(field))
    remove_returned(P, queue, member, field, home)
    if job then
      Jobs.forget(P, job)
    end
    waited = waited + 1
  end
  if waited == JOBS_MAX then
    return true, waited
  end
  for _, member in ipairs(redis.call('ZRANGE', P .. 'returned:' .. queue, 0, -1)) do
    homes[home_key(P, select(2, parse_returned(member)) or NO_HOME, queue)] = true
    waited = waited + 1
  end
  for home in pairs(homes) do
    redis.call('UNLINK', home)
  end
  redis.call('UNLINK', P .. 'returned:' .. queue)
  return false, waited
end

-- Jobs that have become ready by this are handed over; but not in this queue, with which they go.
local function hand_over_elsewhere()
  touched_by_jobs[queue] = nil
  hand_over_jobs(P)
end

local removed, is_more = 0, false
if redis.call('EXISTS', P .. 'returned:' .. queue) == 1 then
  is_more, removed = forget_returned()
end
if not is_more and has_jobs() then
  local jobs
  is_more, jobs = forget_jobs()
  is_more = is_more or redis.call('EXISTS', P .. 'waiting:' .. queue) == 1 -- a batch ended, and its follower came
  removed = removed + jobs
end
hand_over_elsewhere()
if is_more then
  return {0, removed, 0, 1}
end
local waiting = redis.call('LLEN', P .. 'queues:' .. queue)
removed = removed + waiting + redis.call('ZCARD', P .. 'delayed:' .. queue)
redis.call('UNLINK', P .. 'queues:' .. queue, P .. 'delayed:' .. queue, P .. 'failed:' .. queue,
  P .. 'failures:' .. queue, P .. 'suspects:' .. queue, key)
-- These are no settings, and stay: how many are in work, how many hands serve it, when the first lease ends, and until
-- when somebody listens.
if running > 0 then
  redis.call('HSET', key, 'running', running)
end
if (whole(settings[4]) or 0) > 0 then
  redis.call('HSET', key, 'hands', settings[4], 'joined', settings[5] or '0')
end
if settings[6] then
  redis.call('HSET', key, 'moves', settings[6])
end
local lapses = redis.call('ZRANGE', P .. 'leases:' .. queue, 0, 0, 'WITHSCORES')[2]
set_due(P, queue, tonumber(lapses or nil))
local ended = try('ZRANGE', P .. 'ended', 0, 0, 'WITHSCORES') or {}
if ended[1] then -- this queue's `due` may have been what makes somebody go on
  note_due(P, queue, tonumber(ended[2]))
end
if settings[1] then
  redis.call('HSET', key, 'listen', settings[1])
end
if redis.call('EXISTS', key, P .. 'idle:' .. queue) == 0 then
  redis.call('ZREM', P .. 'names', queue)
else -- who remembers the queue sees that all of it has left
  redis.call('HSET', key, 'out', (whole(settings[3]) or 0) + waiting)
end
local lapsed = lapsed_tokens(P, queue, now_ms())
for worker, tokens in pairs(held) do
  if try('HLEN', firsts_key(P, worker, queue)) then -- tidying no longer finds it, and what is marked never comes back
    redis.call('UNLINK', firsts_key(P, worker, queue))
  end
  local unmarked = {}
  for from = 1, #tokens, CHUNK do
    local page = {}
    for i = from, math.min(from + CHUNK - 1, #tokens) do
      page[#page + 1] = token_of(tokens[i])
    end
    for i, marked in ipairs(redis.call('HMGET', P .. 'marks:' .. worker, unpack(page))) do
      unmarked[#unmarked + 1] = not marked and page[i] or nil
      if worker == LEASE and lapsed[page[i]] then
        running, removed = running - 1, removed + (marked and 0 or 1)
      end
    end
  end
  mark(P, worker, unmarked, DELETED)
end
if is_heard(settings[1], settings[2]) then
  announce(queue, 'delete', queue)
end
return {0, removed, running, 0}
