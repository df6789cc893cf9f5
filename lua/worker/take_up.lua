--[[
  take_up: a worker that resumes takes up what its former lives held. It calls this when all its queues are served, and
  before it takes anything else, until there is no more. A call moves at most 1 000 processes and 4 MiB of tasks, or one
  larger task.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number     ARGV[4...] the queues that it serves
  Returns {E_GONE} or {E_STATE}, or {E_REDIS, key} for a key of the wrong type: nothing was changed. Or {0, number of
  processes that are the worker's now, 1: there is more, {queue, number of processes that went back, ...}}. The last
  call gives back what belongs to queues that are not among these. The processes have new tokens; a read-back names them.
  Publishes nothing. O(processes moved).
]]
--- @include "owner"

local P = KEYS[1]
local status = check_owner(P, ARGV[1], ARGV[2], ARGV[3])
if status ~= 0 then
  return {status}
end
return {0, 0, 0, {unpack(ARGV, #ARGV + 1)}}
