--[[
  enqueue: add tasks to a queue, straight into the hands of idle workers as far as there are any. Without tasks it only
  hands over what waits, which is how pipelined LPUSHes end.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] "1": at the front, else at the end
    ARGV[3] request id, "" for none     ARGV[4] which chunk of the request this is     ARGV[5] of how many tasks it is
    ARGV[6...] the tasks
  Returns how many wait afterwards; {E_REDIS, key} when a key has a wrong type, {E_EXISTS} when the request had other
  content the first time: nothing was changed. A chunk that was enqueued before is not again, and answers as it did then.
  Refused by a full Redis before anything is changed. Publishes to the workers that get a task, and to those who listen that work waits. O(tasks).
]]
--- @include "try"

local P, queue, front = KEYS[1], ARGV[1], ARGV[2] == '1'
local list = P .. 'queues:' .. queue
local n_tasks = #ARGV - 5
local CHUNK = 1000
local REQUEST_KEPT_MS = 3600000

local settings = try('HMGET', P .. 'queue:' .. queue, 'paused', 'listen', 'broadcast', 'named')
local latest = try('ZREVRANGE', P .. 'idle:' .. queue, 0, 0)
if damaged then
  return {E_REDIS, damaged}
end

-- All but a plain push. A function of its own, so that what it needs is made only then: for Redis, making a function costs
-- more than calling it.
local function enqueue_all()
--- @include "hand_over"
--- @include "announce"
--- @include "clock"
  local function push(tasks, from) -- returns how many wait then
    local chunk, waiting = {}, 0
    for i = from, n_tasks do
      chunk[#chunk + 1] = front and tasks[n_tasks - i + from] or tasks[i]
      if #chunk == CHUNK or i == n_tasks then
        waiting = redis.call(front and 'RPUSH' or 'LPUSH', list, unpack(chunk))
        chunk = {}
      end
    end
    return waiting
  end

  -- A chunk of a request: its record holds the digest of what it was, and the answer.
  local function digest_of(tasks)
    local lengths = {}
    for i, task in ipairs(tasks) do
      lengths[i] = #task
    end
    return redis.sha1hex(table.concat({#queue, queue, ARGV[2], ARGV[5], table.concat(lengths, ','), ''}, ':')
      .. table.concat(tasks))
  end

  local tasks = {}
  for i = 1, n_tasks do
    tasks[i] = ARGV[i + 5]
  end
  local waiting = try('LLEN', list)
  if not waiting then
    return {E_REDIS, damaged}
  end
  local request, digest = P .. 'request:' .. ARGV[3], nil
  if ARGV[3] ~= '' then
    digest = digest_of(tasks)
    local before = redis.call('HGET', request, ARGV[4])
    if before and string.sub(before, 1, 40) ~= digest then
      return {E_EXISTS}
    elseif before then
      return tonumber(string.sub(before, 41))
    end
  end

  -- The first write is one that a full Redis refuses, so that it refuses all of it.
  if not settings[4] and (waiting == 0 or n_tasks == 0) then
    redis.call('ZADD', P .. 'names', 'NX', now_ms(), queue)
    redis.call('HSET', P .. 'queue:' .. queue, 'named', '1')
  end
  local paused, given, was_waiting = settings[1], 0, waiting > 0
  local idle = not paused and latest[1]
  if idle and not was_waiting then
    given = hand_over(P, queue, n_tasks, tasks, idle)
  end
  if given < n_tasks then
    waiting = push(tasks, given + 1)
  end
  if idle and was_waiting then -- work that came by a bare LPUSH
    waiting = waiting - hand_over(P, queue, waiting, nil, idle)
  end
  if waiting > 0 and not paused and is_heard(settings[2], settings[3]) then
    announce(P, queue, 'work', WORK)
  end
  if digest then
    redis.call('HSET', request, ARGV[4], digest .. waiting)
    redis.call('PEXPIRE', request, REQUEST_KEPT_MS)
  end
  return waiting
end

local is_plain = settings[4] and (settings[1] or not (latest[1] or settings[2] or settings[3])) and ARGV[3] == ''
if not is_plain or n_tasks < 1 or n_tasks > CHUNK or (front and n_tasks > 1) then
  return enqueue_all()
end
return try(front and 'RPUSH' or 'LPUSH', list, unpack(ARGV, 6)) or {E_REDIS, damaged}
