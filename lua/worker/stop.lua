--[[
  stop: a worker leaves. Everything in its sets goes back to the front of its queues, known to the worker or not.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number
  Returns {0, tasks given back}; {E_GONE} or {E_STATE}, or {E_REDIS, key} when a key of it has a wrong type: nothing was
  changed. Publishes to the workers that get its tasks. O(tasks).
]]
--- @include "owner"
--- @include "retire"

local status = owner(KEYS[1], ARGV[1], ARGV[2], ARGV[3])
if status ~= 0 then
  return {status}
end
local given_back, damaged = retire(KEYS[1], ARGV[1])
if damaged then
  return {E_REDIS, damaged}
end
return {0, given_back}
