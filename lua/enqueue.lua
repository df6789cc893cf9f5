--[[
  enqueue: add tasks to a queue, straight into the hands of idle workers as far as there are any. Without tasks it only
  hands over what waits, which is how pipelined LPUSHes end.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] "1": at the front, else at the end     ARGV[3...] the tasks
  Returns how many wait afterwards; {E_REDIS, key} when a key has a wrong type: nothing was changed. Refused by a full
  Redis before anything is changed. Publishes to the workers that get a task. O(tasks).
]]
--- @include "hand_over"
--- @include "try"
--- @include "clock"

local P, queue, front = KEYS[1], ARGV[1], ARGV[2] == '1'
local list = P .. 'queues:' .. queue
local CHUNK = 1000

local function push(tasks, from)
  local n = #tasks
  local chunk = {}
  for i = from, n do
    chunk[#chunk + 1] = front and tasks[n - i + from] or tasks[i]
    if #chunk == CHUNK or i == n then
      redis.call(front and 'RPUSH' or 'LPUSH', list, unpack(chunk))
      chunk = {}
    end
  end
end

local tasks = {}
for i = 3, #ARGV do
  tasks[#tasks + 1] = ARGV[i]
end

local waiting = try('LLEN', list)
local paused = try('HGET', P .. 'queue:' .. queue, 'paused')
local idle = try('ZCARD', P .. 'idle:' .. queue)
if damaged then
  return {E_REDIS, damaged}
end
idle = idle > 0 and not paused

-- The first write is one that a full Redis refuses, so that it refuses all of it.
if waiting == 0 or #tasks == 0 then
  redis.call('ZADD', P .. 'names', 'NX', now_ms(), queue)
end
local given = 0
if waiting == 0 and idle then
  given = hand_over(P, queue, #tasks, tasks)
end
if given < #tasks then
  push(tasks, given + 1)
end
if waiting > 0 and idle then -- work that came by a bare LPUSH
  hand_over(P, queue, waiting + #tasks)
end
return redis.call('LLEN', list)
