--[[
  promote: move what is due in all queues. The keeper of the timer calls it.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
  Returns {0, ms until something is due, -1: nothing will be, the ids of batches that were closed because nobody else
  did, now, and the jobs whose ticks are to be computed, each as {id, its fields `cron`, `zone`, `last`, `until` and
  `backlog`}}: refill is to follow for each of these. A call moves what is due in at most 100 queues, at most 300 tasks
  and jobs and 4 MiB of them, or one larger one. If more are due, it returns 0 ms.
  Writes what is due, its queues, P:due and P:crons. Publishes to the workers that get what was due, and to those who
  listen.
  O(what is due).
]]
--- @include "due"
--- @include "available"
--- @include "clock"
--- @include "types"

local P = KEYS[1]
local QUEUES_MAX = 100
local DAMAGED_PAUSE_MS = 1000
local now = now_ms()
local due = P .. 'due'
local OF_NO_QUEUE, closed, crons = '', {}, {} -- in place of a queue: batches, and schedules

try('HDEL', P .. 'config', '-') -- needs no memory, so that a full Redis allows the others
if first_score(P .. 'ended') <= now then -- here too, because the queue that is due may be damaged
  let_go_due(P, '', now)
end
for _, queue in ipairs(try('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, QUEUES_MAX) or {}) do
  if not may_move_more() then
    break
  end
  has_type('ZCARD', P .. 'scheduled:' .. queue) -- mostly there: so asked apart from the keys that mostly are not
  if queue == OF_NO_QUEUE then
    crons = Jobs.crons_due(P, now)
    closed = Jobs.batches.move_due(P, now)
  elseif can_move_due(P, queue) then
    move_due(P, queue, now)
    hand_over_waiting(P, queue)
  else -- a damaged queue must not hold up the others
    redis.call('ZADD', due, now + DAMAGED_PAUSE_MS, queue)
  end
end
hand_over_jobs(P)
local first = tonumber((try('ZRANGE', due, 0, 0, 'WITHSCORES') or {})[2])
return {0, first and first < 2 ^ 53 and math.max(0, first - now) or -1, closed, now, crons}
