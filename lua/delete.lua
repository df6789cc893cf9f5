--[[
  delete: a queue goes, with what waits, is delayed or has failed, and with its settings. Its processes are marked, and
  their holders told: they may finish, else they are dropped. So nothing resurrects it.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue
  Returns {0, how many waited, processes marked}, or {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Publishes to the holders and to those who listen. O(processes of the queue).
]]
--- @include "marks"
--- @include "due"
--- @include "announce"

local P, queue = KEYS[1], ARGV[1]
local key = P .. 'queue:' .. queue
local settings = try('HMGET', key, 'listen', 'broadcast')
local is_sound = can_move_due(P, queue) and try('ZCARD', P .. 'names')
local held, running = {}, 0
for _, worker in ipairs(holders(P)) do
  local tokens = try('HKEYS', P .. 'processing:' .. worker .. ':' .. queue) or {}
  is_sound = is_sound and (#tokens == 0 or can_mark(P, worker))
  held[worker] = tokens
  running = running + #tokens
end
if not is_sound or damaged then
  return {E_REDIS, damaged}
end

local waiting = redis.call('LLEN', P .. 'queues:' .. queue) + redis.call('ZCARD', P .. 'delayed:' .. queue)
redis.call('UNLINK', P .. 'queues:' .. queue, P .. 'delayed:' .. queue, P .. 'failed:' .. queue,
  P .. 'failures:' .. queue,
  P .. 'crashes:' .. queue, key)
-- What stays is no setting: who is still in work, when his lease ends, and who listens.
if running > 0 then
  redis.call('HSET', key, 'running', running)
end
local lapses = redis.call('ZRANGE', P .. 'leases:' .. queue, 0, 0, 'WITHSCORES')[2]
if lapses then
  redis.call('HSET', key, 'due', lapses)
end
if settings[1] then
  redis.call('HSET', key, 'listen', settings[1])
end
if redis.call('EXISTS', key, P .. 'idle:' .. queue) == 0 then
  redis.call('ZREM', P .. 'names', queue)
end
for worker, tokens in pairs(held) do
  local unmarked = {}
  for _, token in ipairs(tokens) do
    unmarked[#unmarked + 1] = redis.call('HEXISTS', P .. 'marks:' .. worker, token) == 0 and token or nil
  end
  mark(P, worker, unmarked, DELETED)
end
if is_heard(settings[1], settings[2]) then
  announce(P, queue, 'delete', queue)
end
return {0, waiting, running}
