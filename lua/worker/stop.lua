--[[
  stop: a worker deregisters. All that its sets hold goes back to the front of its queues, whether the worker knows it
  or not.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number
  Returns {0, number of processes given back}; {E_GONE} or {E_STATE}, or {E_REDIS, key} for a key of the wrong type:
  nothing was changed. Removes the worker's record and all other keys and entries of it; writes its queues. Publishes to
  the workers that get its tasks, to the one that gets the timer, and to those who listen. O(processes), whatever the
  sizes of the tasks.
]]
--- @include "owner"
--- @include "retire"

local status = check_owner(KEYS[1], ARGV[1], ARGV[2], ARGV[3])
if status ~= 0 then
  return {status}
end
local given_back, prevented_by = retire(KEYS[1], ARGV[1])
if prevented_by then
  return {E_REDIS, prevented_by}
end
return {0, given_back}
