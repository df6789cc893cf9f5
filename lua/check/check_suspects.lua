--[[
  check_suspects: has each suspect a process, in somebody's hands or come back?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] queue     ARGV[3...] tokens of suspects
  Returns {0, 0, then for each find: its key, what is wrong, 1 if it was repaired}.
  Repairs P:suspects of the queue. Publishes nothing. O(tokens x registered workers).
]]
--- @include "finds"
--- @include "marks"
--- @include "returned"

local P, queue, args = KEYS[1], ARGV[2], ARGV
local check = new_check(P, ARGV[1])
local suspects, keys, is_sound = P .. 'suspects:' .. queue, {}, true
for _, worker in ipairs(all_holders(P)) do
  for _, key in ipairs(keys_of_holder(P, worker, queue)) do
    local n = try('HLEN', key)
    is_sound = is_sound and n ~= nil
    keys[#keys + 1] = n and n > 0 and key or nil
  end
end
if not is_sound or not try('ZCARD', P .. 'returned:' .. queue) or not try('HLEN', suspects) then
  return check.answer -- nobody knows what is there
end

local function is_somewhere(token)
  for _, key in ipairs(keys) do
    if redis.call('HEXISTS', key, token) == 1 or redis.call('HEXISTS', key, 'j' .. token) == 1 then
      return true
    end
  end
  return returned_member(P, queue, token) or returned_member(P, queue, 'j' .. token)
end

local gone = {}
for i = 3, #args do
  local is_gone = redis.call('HEXISTS', suspects, args[i]) == 1 and not is_somewhere(args[i])
  gone[#gone + 1] = is_gone and args[i] or nil
end
if #gone > 0 then
  note_find(check, suspects, 'has ' .. plural(#gone, 'suspect') .. ' without a process', function()
    redis.call('HDEL', suspects, unpack(gone))
    return 'removed'
  end)
end
return check.answer
