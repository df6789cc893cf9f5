--[[
  check_dependents: do these jobs wait for that one?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] the id of a job, which may be gone     ARGV[3] which list of it:
      "dependents" or "followers"       ARGV[4...] members of that list
  Returns {0, 0, then for each find: its key, what is wrong, 1 if it was repaired}.
  Repairs this list of the id. Publishes nothing. O(members).
]]
--- @include "finds"
--- @include "jobs"

local P, id, args = KEYS[1], ARGV[2], ARGV
local check = new_check(P, ARGV[1])
local is_followers = ARGV[3] == 'followers'
local list = P .. (is_followers and 'followers:' or 'dependents:') .. id

-- Where a set has the wrong type, nobody knows whether the job waits: then it is no find.
local stray = {}
for i = 4, #args do
  local job, kind = Jobs.parse_name(args[i])
  local is_misplaced = (kind ~= '') ~= is_followers
  local is_stray = (is_misplaced or try('SISMEMBER', P .. 'dependencies:' .. job, id .. kind) == 0)
    and try('ZSCORE', list, args[i])
  stray[#stray + 1] = is_stray and args[i] or nil
end
if #stray > 0 then
  note_find(check, list, 'has ' .. plural(#stray, 'job') .. ' that do not wait for it', function()
    redis.call('ZREM', list, unpack(stray))
    return 'removed'
  end)
end
return check.answer
