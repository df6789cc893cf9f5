--[[
  take: tasks for somebody who is no worker, under a lease.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] how many at most; 0: only move what is due, and tidy up
    ARGV[3] how long the lease is, ms
    ARGV[4] "1": the caller waits on the queue's channel of work if there is nothing
  Returns {0, ms until the next delayed task is due or lease lapses, -1: none, when the lease ends, first token, the
  tasks, whose tokens follow each other}, or {E_REDIS, key} for a key of the wrong type: nothing was changed. A paused
  queue has none. Publishes to the workers that get what was due. O(tasks).
]]
--- @include "due"
--- @include "available"
--- @include "tidy"
--- @include "announce"
--- @include "clock"

local P, queue = KEYS[1], ARGV[1]
local list, key = P .. 'queues:' .. queue, P .. 'queue:' .. queue
local now = now_ms()
local settings = try('HMGET', key, 'paused', 'due')
if not settings or not can_move_due(P, queue) then
  return {E_REDIS, damaged}
end

redis.call('HDEL', key, '-') -- needs no memory, so that a full Redis allows the others
local due = tonumber(settings[2])
if due and due <= now then
  due = move_due(P, queue, now)
end
local n = settings[1] and 0 or math.min(tonumber(ARGV[2]), redis.call('LLEN', list))
local result = {0, -1, now + tonumber(ARGV[3]), '', {}}
if n > 0 then
  local first = draw_tokens(P, n)
  result[4], result[5] = token_text(first), redis.call('RPOP', list, n)
  for i, task in ipairs(result[5]) do
    local token = token_text(first + i - 1)
    redis.call('HSET', P .. 'processing:' .. LEASE .. ':' .. queue, token, task)
    redis.call('ZADD', P .. 'leases:' .. queue, result[3], token)
  end
  try('HINCRBY', key, 'running', n)
  try('ZADD', P .. 'names', 'NX', now, queue)
  note_due(P, queue, result[3])
  due = math.min(due or result[3], result[3])
elseif ARGV[4] == '1' then
  keep_listening(P, queue, now)
end
hand_over_waiting(P, queue)
if ARGV[2] == '0' then
  tidy(P, {queue}, now)
end
if due then
  result[2] = math.max(0, due - now)
end
return result
