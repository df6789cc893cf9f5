--[[
  config: set or unset one setting of a queue or of the namespace.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue, "": the namespace     ARGV[2] name     ARGV[3] value, "": unset
  Returns 0; {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Writes the setting, and notes the queue's name. For a bound ("keep_...") it removes what is beyond, as far as one
  script may: of the queue, or of the first 100 queues. So a bound makes room when Redis is full; tidying goes on.
  Publishes to the workers that get what a raised limit lets out, to a worker if failures were removed, and to those who
  listen. O(tasks handed over, and what is removed).
]]
--- @include "available"
--- @include "tidy"
--- @include "clock"

local P, queue, name = KEYS[1], ARGV[1], ARGV[2]
local key = queue == '' and P .. 'config' or P .. 'queue:' .. queue
if not try('HLEN', key) then
  return {E_REDIS, damaged}
end
redis.call('HDEL', key, '-') -- needs no memory, so that a full Redis allows the others
if ARGV[3] == '' then
  redis.call('HDEL', key, name)
else
  redis.call('HSET', key, name, ARGV[3])
end
if queue ~= '' then
  try('ZADD', P .. 'names', 'NX', now_ms(), queue)
  local is_key_limit = name == 'max_running_per_key' and redis.call('EXISTS', P .. 'held:' .. queue) == 1
  if is_key_limit and Jobs.are_sound(P, queue) then
    Jobs.keys.look_at_all(P, queue) -- more may run now
  end
  local is_newly_fair = name == 'fair' and ARGV[3] == '1' and redis.call('EXISTS', P .. 'waiting:' .. queue) == 1
  if is_newly_fair and Jobs.are_sound(P, queue) then
    Jobs.keys.begin_rounds(P, queue)
  end
  hand_over_waiting(P, queue)
end
if string.sub(name, 1, 5) == 'keep_' and queue ~= '' then
  tidy(P, queue, now_ms())
elseif string.sub(name, 1, 5) == 'keep_' then
  tidy_from(P, 0, now_ms())
end
hand_over_jobs(P) -- some waited for the end of one that is gone
return 0
