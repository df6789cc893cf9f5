--[[
  Queues that may have large tasks: those of more than INLINE_MAX. They have the field `big` in their settings. From
  them tasks are popped one by one, as many as a script may move. From all others they are popped by number.
]]
--- @include "bytes"

-- Pops up to n tasks. The second value: is it less, because that is too much for one script?
local function pop_by_length(list, n)
  local tasks = {}
  while #tasks < n do
    local task = redis.call('RPOP', list)
    if not task then
      return tasks, false
    elseif moved_bytes > 0 and moved_bytes + #task > BYTES_MAX then
      redis.call('RPUSH', list, task)
      return tasks, true
    end
    moved_bytes = moved_bytes + #task
    tasks[#tasks + 1] = task
  end
  return tasks, false
end

-- After a take: large tasks were met, or may be there. Where nothing is left, nothing is.
local function note_big(P, queue, was_big)
  if redis.call('EXISTS', P .. 'queues:' .. queue) == 0 then
    redis.call('HDEL', P .. 'queue:' .. queue, 'big')
  elseif not was_big then
    redis.call('HSET', P .. 'queue:' .. queue, 'big', '1')
  end
end

-- A task goes into a queue, now or later.
local function note_length(P, queue, task)
  if #task > INLINE_MAX then
    redis.call('HSET', P .. 'queue:' .. queue, 'big', '1')
  end
end
