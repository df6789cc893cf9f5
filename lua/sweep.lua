--[[
  sweep: retire one worker that is dead: its life has ended by the registry, its liveness key is gone, and no silence of
  Redis gives it time.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] the worker
  Returns {0, tasks given back}; {E_STATE} when it is not dead, or already swept; {E_REDIS, key} when a key of it has a
  wrong type: nothing was written. Publishes to the workers that get its tasks. O(tasks).
]]
--- @include "retire"
--- @include "silence"
--- @include "clock"

local P, worker = KEYS[1], ARGV[1]
local now = now_ms()
local ends = tonumber(redis.call('ZSCORE', P .. 'registry', worker) or nil)
if not ends or ends > now or redis.call('EXISTS', P .. 'alive:' .. worker) == 1 then
  return {E_STATE}
end
if in_grace(P, now, ends, tonumber(redis.call('ZSCORE', P .. 'ttls', worker) or 0)) then
  return {E_STATE}
end
local given_back, damaged = retire(P, worker)
if damaged then
  return {E_REDIS, damaged}
end
return {0, given_back}
