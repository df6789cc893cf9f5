--[[
  check_keys: has each of these keys its type, and a time to live if it needs one?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be
    ARGV[2...] for each key: the part of its name after the root; its type, "" for a key of unknown kind; its time to
      live, ms, 0: it needs none
  Returns {0, 0, then for each find: its key, what is wrong, 1 if it was repaired}. A key that is not there is no find.
  Repairs times to live. Publishes nothing. O(keys).
]]
--- @include "finds"

local P, args = KEYS[1], ARGV
local check = new_check(P, ARGV[1])

local function look(key, wanted, ttl_ms)
  local found = redis.call('TYPE', key).ok
  if found == 'none' then
    return
  elseif wanted == '' then
    note_find(check, key, 'is of no kind that this release knows; look at it, and move it away with RENAME')
  elseif found ~= wanted then
    note_find(check, key, 'has the wrong type ' .. found .. ' instead of ' .. wanted
      .. '; look at it, and move it away with RENAME')
  elseif ttl_ms > 0 and redis.call('PTTL', key) == -1 then
    note_find(check, key, 'has no time to live, and would stay for ever', function()
      redis.call('PEXPIRE', key, ttl_ms)
      return 'gave it ' .. ttl_ms / 1000 .. ' s'
    end)
  end
end

for i = 2, #args, 3 do
  look(P .. args[i], args[i + 1], tonumber(args[i + 2]))
end
return check.answer
