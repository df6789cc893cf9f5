--[[
  Delayed tasks: each queue has them in a zset by due time, and the earliest one in the field `due` of its settings, so
  that a queue without any costs nothing. A member is "<token>:<task>": equal bytes must not collapse.
]]

-- At most this many per call move.
local DUE_MAX = 100
local TOKEN_LEN = 11

local function delay_task(P, queue, at_ms, token, task)
  redis.call('ZADD', P .. 'delayed:' .. queue, at_ms, token .. ':' .. task)
  local due = redis.call('HGET', P .. 'queue:' .. queue, 'due')
  if not due or at_ms < tonumber(due) then
    redis.call('HSET', P .. 'queue:' .. queue, 'due', at_ms)
  end
end

-- Moves what is due to the end of the queue. Returns when the next one is due, ms, or nil.
local function move_due(P, queue, now)
  local delayed = P .. 'delayed:' .. queue
  local members = redis.call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT', 0, DUE_MAX)
  if #members > 0 then
    local tasks = {}
    for i, member in ipairs(members) do
      tasks[i] = string.sub(member, TOKEN_LEN + 2)
    end
    redis.call('LPUSH', P .. 'queues:' .. queue, unpack(tasks))
    redis.call('ZREM', delayed, unpack(members))
  end
  local next_due = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
  if next_due then
    redis.call('HSET', P .. 'queue:' .. queue, 'due', next_due)
    return tonumber(next_due)
  end
  redis.call('HDEL', P .. 'queue:' .. queue, 'due')
end
