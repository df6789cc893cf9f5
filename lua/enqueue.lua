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
--- @include "hand_over"
--- @include "try"
--- @include "clock"

local P, queue, front = KEYS[1], ARGV[1], ARGV[2] == '1'
local list = P .. 'queues:' .. queue
local CHUNK = 1000
local REQUEST_KEPT_MS = 3600000

-- Returns how many wait then.
local function push(tasks, from)
  local n = #tasks
  local chunk, waiting = {}, 0
  for i = from, n do
    chunk[#chunk + 1] = front and tasks[n - i + from] or tasks[i]
    if #chunk == CHUNK or i == n then
      waiting = redis.call(front and 'RPUSH' or 'LPUSH', list, unpack(chunk))
      chunk = {}
    end
  end
  return waiting
end

local tasks = {}
for i = 6, #ARGV do
  tasks[#tasks + 1] = ARGV[i]
end

local waiting = try('LLEN', list)
local settings = try('HMGET', P .. 'queue:' .. queue, 'paused', 'listen', 'broadcast')
local idle = try('ZCARD', P .. 'idle:' .. queue)
if damaged then
  return {E_REDIS, damaged}
end
local paused = settings[1]
idle = idle > 0 and not paused

-- Has this chunk of the request been enqueued before? Its record holds the digest of what it was, and the answer.
local request = P .. 'request:' .. ARGV[3]
local digest
if ARGV[3] ~= '' then
  local lengths = {}
  for i, task in ipairs(tasks) do
    lengths[i] = #task
  end
  digest = redis.sha1hex(table.concat({#queue, queue, ARGV[2], ARGV[5], table.concat(lengths, ','), ''}, ':')
    .. table.concat(tasks))
  local before = redis.call('HGET', request, ARGV[4])
  if before then
    if string.sub(before, 1, 40) ~= digest then
      return {E_EXISTS}
    end
    return tonumber(string.sub(before, 41))
  end
end

-- The first write is one that a full Redis refuses, so that it refuses all of it.
if waiting == 0 or #tasks == 0 then
  redis.call('ZADD', P .. 'names', 'NX', now_ms(), queue)
end
local given = 0
if waiting == 0 and idle then
  given = hand_over(P, queue, #tasks, tasks)
end
local was_waiting = waiting > 0
if given < #tasks then
  waiting = push(tasks, given + 1)
end
if was_waiting and idle then -- work that came by a bare LPUSH
  waiting = waiting - hand_over(P, queue, waiting)
end
if waiting > 0 and not paused and is_heard(settings[2], settings[3]) then
  announce(P, queue, 'work', WORK)
end
if digest then
  redis.call('HSET', request, ARGV[4], digest .. waiting)
  redis.call('PEXPIRE', request, REQUEST_KEPT_MS)
end
return waiting
