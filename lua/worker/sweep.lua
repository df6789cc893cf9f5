--[[
  sweep: retire one dead worker. A worker is dead if its life has ended by the registry, its liveness key is gone, and
  no silence of Redis gives it more time. A forced sweep retires the worker whether it is dead or not.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] the worker     ARGV[2] "1": forced, whether it is dead or not
  Returns {0, number of processes given back, number that failed, group "crashed"}; {E_NOT_FOUND} if it is not
  registered; {E_STATE} if it is not dead; {E_REDIS, key} for a key of the wrong type: nothing was changed. If the
  worker had died, a suspect that had begun is blamed for it; if there is none, all that it held become suspects.
  If the clock was set back, lives are cut to their ttl first, whatever it returns.
  Removes the worker's record and all other keys and entries of it; writes its queues.
  Publishes to the workers that get its tasks, to the one that gets the timer, and to those who listen.
  O(processes), whatever the sizes of the tasks.
]]
--- @include "retire"
--- @include "silence"
--- @include "clock_back"
--- @include "clock"

local P, worker = KEYS[1], ARGV[1]
local now = now_ms()
ClockBack.look(P, now)
local ends = try('ZSCORE', P .. 'registry', worker)
local is_alive = redis.call('EXISTS', P .. 'alive:' .. worker) == 1
if ends == nil then
  return {E_REDIS, damaged}
elseif not ends then
  return {E_NOT_FOUND}
end
if ARGV[2] ~= '1' then
  if is_alive or tonumber(ends) > now or in_grace(P, now, tonumber(ends), worker) then
    return {E_STATE}
  end
end
local given_back, prevented_by, failed = retire(P, worker, not is_alive)
if prevented_by then
  return {E_REDIS, prevented_by}
end
return {0, given_back, failed}
