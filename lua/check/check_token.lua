--[[
  check_token: has the counter of tokens reached the tokens that are in use? If not, it would draw them again.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] the number of the highest token seen, 0: none
  Returns {0, 0, then for each find: its key, what is wrong, 1 if it was repaired}.
  Repairs P:token. Publishes nothing. O(1).
]]
--- @include "finds"
--- @include "drawn"

local P, seen = KEYS[1], tonumber(ARGV[2])
local check = new_check(P, ARGV[1])
local key = P .. 'token'
local last = try('GET', key)
if last == nil then
  return check.answer
end
local number = last and drawn_number(last, EXACT_MOST)
local what = last and not number and 'is no token'
  or seen > 0 and not last and 'is not there, though tokens are in use'
  or number and number < seen and 'is lower than a token that is in use, and would draw it again'
if what then
  note_find(check, key, what, function()
    if seen > 0 then
      redis.call('SET', key, token_text(seen))
      return 'set it to that one'
    end
    redis.call('DEL', key)
    return 'removed it'
  end)
end
return check.answer
