--[[
  check_holders: do what a queue's leases say of their holders, and what the holders' lists say, agree?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] which key to look through: "holders" or "holds"
    ARGV[3] its queue, or its holder's name     ARGV[4...] entries of it: tokens, or "<token>:<queue>"
  Returns {0, 0, then for each find: its key, what is wrong, 1 if it was repaired}.
  Repairs both keys: a process that is there keeps the holder that its queue names. Publishes nothing. O(entries).
]]
--- @include "finds"
--- @include "marks"
--- @include "token"

local P, args = KEYS[1], ARGV
local check = new_check(P, ARGV[1])

local function look_at_queue(queue)
  local key, set = P .. 'holders:' .. queue, P .. 'processing:' .. LEASE .. ':' .. queue
  local gone, unlisted = {}, {}
  for i = 4, #args do
    local token = args[i]
    local held, name = try('HMGET', set, token, 'j' .. token), try('HGET', key, token)
    if held and name and not held[1] and not held[2] then
      gone[#gone + 1] = token
    elseif held and name and try('ZSCORE', P .. 'holds:' .. name, token .. ':' .. queue) == false then
      unlisted[#unlisted + 1] = {P .. 'holds:' .. name, token .. ':' .. queue}
    end
  end
  if #gone > 0 then
    note_find(check, key, 'has ' .. plural(#gone, 'holder') .. ' without a process', function()
      redis.call('HDEL', key, unpack(gone))
      return 'removed'
    end)
  end
  if #unlisted > 0 then
    note_find(check, key, 'has ' .. plural(#unlisted, 'lease') .. ' that their holders do not list', function()
      for _, one in ipairs(unlisted) do
        redis.call('ZADD', one[1], 0, one[2])
      end
      return 'listed'
    end)
  end
end

local function look_at_holder(holder)
  local key, stray = P .. 'holds:' .. holder, {}
  for i = 4, #args do
    local token, queue = string.sub(args[i], 1, TOKEN_LEN), string.sub(args[i], TOKEN_LEN + 2)
    local name = try('HGET', P .. 'holders:' .. queue, token) -- nil: of a wrong type, so nobody knows
    local is_stray = name ~= nil and name ~= holder and try('ZSCORE', key, args[i])
    stray[#stray + 1] = is_stray and args[i] or nil
  end
  if #stray > 0 then
    note_find(check, key, 'has ' .. plural(#stray, 'lease') .. ' that are not held under this name', function()
      redis.call('ZREM', key, unpack(stray))
      return 'removed'
    end)
  end
end

if ARGV[2] == 'holders' then
  look_at_queue(ARGV[3])
else
  look_at_holder(ARGV[3])
end
return check.answer
