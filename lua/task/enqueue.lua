--[[
  enqueue: add tasks to a queue. As long as workers are idle, the tasks go straight into their hands. A call without
  tasks only hands over what waits: a series of pipelined LPUSHes ends with it.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] "1": at the front, else at the end
    ARGV[3] request id, "" for none     ARGV[4] number of this chunk in the request
    ARGV[5] number of tasks in the whole request
    ARGV[6...] the tasks
  Returns how many tasks and jobs wait afterwards; {E_EXISTS} if this chunk of the request had other content the first
  time; {E_REDIS, key} for a key of the wrong type: nothing was changed. A chunk that was enqueued before is not
  enqueued again: the answer is the one that it got then, and its record is written again as it is. A full Redis refuses
  the call before anything is changed.
  Writes the queue or the workers' sets, with their counts, idle entries and P:token; P:names; and for a request its
  record.
  Publishes to the workers that get a task, and tells those who listen that work waits. O(tasks).
]]
--- @include "bytes"
--- @include "chunk"
--- @include "idle"

local P, queue, front = KEYS[1], ARGV[1], ARGV[2] == '1'
local list = P .. 'queues:' .. queue
local settings = redis.pcall('HMGET', P .. 'queue:' .. queue, 'paused', 'listen', 'broadcast', 'named',
  'max_running', 'running', 'jobs', 'returned', 'big', 'out', 'rate')
local first = redis.pcall('ZRANGE', P .. 'idle:' .. queue, 0, 0, 'WITHSCORES')

-- The commonest call goes straight through, before any function is made: one task, for the first of the idle workers,
-- in a queue that nothing is special about. Whatever is not as usual goes the long way, which decides anew. Both ways
-- have their rules from the same pieces.
local is_usual = #ARGV == 6 and ARGV[3] == '' and not front and first[1] and settings[4] and not settings[1]
  and not settings[5] and not settings[7] and not settings[8] and not settings[11]
if is_usual and redis.pcall('LLEN', list) == 0 then
  local worker, was, task, is_suspect = first[1], first[2], ARGV[#ARGV], false
  --- @inline "good_counts"
  local left = redis.call('PTTL', P .. 'alive:' .. worker)
  local w = redis.pcall('HMGET', P .. 'worker:' .. worker, 'epoch', 'ttl', 'hands', 'held', 'q:' .. queue)
  --- @inline "free_hands"
  if are_good and free > 0 and limit <= 0 and #task <= INLINE_MAX then
    --- @inline "idle_entry_now"
    if not score then
      local time, epoch, n = redis.call('TIME'), w[1], 1
      local us = time[1] * 1000000 + time[2]
      local from, done, given = us, 1, 1
      --- @inline "draw_token"
      if not is_drawn then
        error(answer)
      end
      local token = last
      --- @inline "hand_task"
      if is_handed then
        redis.call('HINCRBY', P .. 'worker:' .. worker, 'held', '1')
        --- @inline "idle_after"
        --- @inline "count_handed"
        return 0
      end
      redis.call('ZREM', P .. 'idle:' .. queue, worker)
      first = redis.pcall('ZRANGE', P .. 'idle:' .. queue, 0, 0, 'WITHSCORES')
    end
  end
end

--- @include "try"

if settings.err then
  settings = try('HMGET', P .. 'queue:' .. queue, 'named')
end
if first.err then
  first = try('ZRANGE', P .. 'idle:' .. queue, 0, 0, 'WITHSCORES')
end
if damaged then
  return {E_REDIS, damaged}
end

-- How many more processes the limit over all workers allows.
local most = settings[5] and tonumber(string.match(settings[5], '^%d+$')) or 0
local running = most > 0 and settings[6] and tonumber(string.match(settings[6], '^%d+$')) or 0
local room = most > 0 and math.max(0, most - running) or math.huge
local rate, use, asked_us
if settings[11] then
  local time = redis.call('TIME')
  asked_us = time[1] * 1000000 + time[2]
--- @include "rate"
  rate, use = Rate.of(P, queue, settings[11], asked_us), Rate.use
  room = rate and math.min(room, rate.room) or room
end
local is_idle = first[1] and not settings[1] and room > 0
local n_tasks = #ARGV - 5
local is_big = false
for i = 6, #ARGV do
  is_big = is_big or #ARGV[i] > INLINE_MAX
end
is_big = is_big and not settings[9]
if settings[4] and not is_idle and not settings[2] and not settings[3] and not settings[7] and not settings[8]
    and not is_big and not rate and ARGV[3] == '' and n_tasks > 0 and n_tasks <= CHUNK
    and not (front and n_tasks > 1) then
  local n = try(front and 'RPUSH' or 'LPUSH', list, unpack(ARGV, 6))
  if front and n then
    try('HINCRBY', P .. 'queue:' .. queue, 'unordered', n_tasks)
  end
  if n == n_tasks and redis.call('EXISTS', P .. 'timer') == 0 then -- nobody else notes since when they wait
    local time, out = redis.call('TIME'), tonumber(string.match(settings[10] or '0', '^%d+$')) or 0
    redis.call('HSET', P .. 'queue:' .. queue, 'ages',
      string.format('%s%03d:%.0f %s%03d:%.0f', time[1], time[2] / 1000, out, time[1], time[2] / 1000, out + n))
  end
  return n or {E_REDIS, damaged}
end

-- Only the calls that come this far need functions, so the functions are made here; those of a hand-over further down,
-- where somebody is idle.
--- @include "clock"
clock_us = asked_us -- one time for the rate and for tokens

-- Returns how many tasks are in the list afterwards.
local function push(tasks, from)
  local chunk, waiting = {}, 0
  for i = from, #tasks do
    chunk[#chunk + 1] = front and tasks[#tasks - i + from] or tasks[i]
    if #chunk == CHUNK or i == #tasks then
      waiting = redis.call(front and 'RPUSH' or 'LPUSH', list, unpack(chunk))
      chunk = {}
    end
  end
  return waiting
end

-- Pushes and hands over. `waiting` tasks were in the list before. Returns how many tasks and jobs wait afterwards, and
-- whether more can be handed over than this script may.
local function enqueue(tasks, waiting)
  -- The first write is one that a full Redis refuses: so it refuses the whole call.
  if not settings[4] and try('ZADD', P .. 'names', 'NX', now_ms(), queue) then
    redis.call('HSET', P .. 'queue:' .. queue, 'named', '1')
  end
  if is_big then
    redis.call('HSET', P .. 'queue:' .. queue, 'big', '1')
  end
  local now_waiting, is_cut
  local left = 0
  --- @inline "good_counts"
  local counted = are_good and {running, out} or nil
  if not is_idle or settings[8] then
    now_waiting = #tasks > 0 and push(tasks, 1) or waiting
    is_cut = is_idle
  else
--- @include "hand_over"
    local given = waiting == 0 and hand_over(P, queue, math.min(#tasks, room), tasks, first,
      counted) or 0
    left = given
    now_waiting = given < #tasks and push(tasks, given + 1) or waiting
    if waiting > 0 then -- a bare LPUSH brought it
      local more
      more, is_cut = hand_over(P, queue, math.min(now_waiting, room), nil, first)
      now_waiting, given = now_waiting - more, more
    end
    room = room - given
    if rate then
      use(P, queue, rate, given)
    end
  end
  if front and #tasks > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'unordered', #tasks)
  end
  if waiting == 0 and now_waiting > 0 and counted and redis.call('EXISTS', P .. 'timer') == 0 then
    redis.call('HSET', P .. 'queue:' .. queue, 'ages',
      string.format('%.0f:%.0f %.0f:%.0f', now_ms(), out + left, now_ms(), out + left + now_waiting))
  end
  if settings[7] or settings[8] then
--- @include "waiting"
    now_waiting = count_waiting(P, queue)
  end
  return now_waiting, is_cut
end

-- Tells those who listen of as much as may be taken, and the timer's keeper that more is to be handed over, now or when
-- the rate allows it.
local function say_so(waiting, is_cut)
  local is_worth_saying = waiting > 0 and not settings[1] and (settings[2] or settings[3])
  local is_held_back = rate and waiting > 0 and not settings[1] and rate.room < 1
    and (first[1] or is_worth_saying)
  if not is_cut and not is_worth_saying and not is_held_back then
    return
  end
--- @include "set_due"
--- @include "takers"
  if is_cut then
    note_due(P, queue, now_ms())
  elseif is_held_back then
    note_due(P, queue, rate.next_ms)
  end
  if is_worth_saying and room > 0 and is_heard(settings[2], settings[3]) then
    Takers.announce(P, queue, math.min(waiting, room))
  end
end

-- Enqueues a chunk of a request once. The request's record holds the digest of each chunk, and its answer.
local function enqueue_once(tasks, waiting)
  local request, lengths = P .. 'request:' .. ARGV[3], {}
  for i, task in ipairs(tasks) do
    lengths[i] = #task
  end
  local digest = redis.sha1hex(table.concat({#queue, queue, ARGV[2], ARGV[5], table.concat(lengths, ','), ''}, ':')
    .. table.concat(tasks))
--- @include "request"
  local answer = earlier_answer(request, ARGV[4], digest)
  if damaged then
    return {E_REDIS, damaged}
  elseif answer == false then
    return {E_EXISTS}
  elseif answer then
    return tonumber(answer)
  end
  local is_cut
  waiting, is_cut = enqueue(tasks, waiting)
  say_so(waiting, is_cut)
  note_answer(request, ARGV[4], digest, waiting)
  return waiting
end

local tasks, waiting = {}, try('LLEN', list)
if not waiting then
  return {E_REDIS, damaged}
end
for i = 1, n_tasks do
  tasks[i] = ARGV[i + 5]
end
if ARGV[3] ~= '' then
  return enqueue_once(tasks, waiting)
end
local is_cut
waiting, is_cut = enqueue(tasks, waiting)
if is_cut or settings[2] or settings[3] or rate then
  say_so(waiting, is_cut)
end
return waiting
