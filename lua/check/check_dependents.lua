--[[
  check_dependents: do these jobs wait for that one?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] the id of a job, which may be gone     ARGV[3...] ids of its dependents
  Returns {0, 0, then for each find: its key, what is wrong, 1 if it was repaired}.
  Repairs P:dependents of the id. Publishes nothing. O(dependents).
]]
--- @include "finds"

local P, id, args = KEYS[1], ARGV[2], ARGV
local check = new_check(P, ARGV[1])
local dependents = P .. 'dependents:' .. id

-- Where a set has the wrong type, nobody knows whether the job waits: then it is no find.
local stray = {}
for i = 3, #args do
  local is_stray = try('SISMEMBER', P .. 'dependencies:' .. args[i], id) == 0
    and try('ZSCORE', dependents, args[i])
  stray[#stray + 1] = is_stray and args[i] or nil
end
if #stray > 0 then
  note_find(check, dependents, 'has ' .. plural(#stray, 'job') .. ' that do not wait for it', function()
    redis.call('ZREM', dependents, unpack(stray))
    return 'removed'
  end)
end
return check.answer
