--[[
  check_marks: does each process that is marked or has a note exist?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] worker, or ".lease"     ARGV[3] how many queues, n
    ARGV[4...] n queues where the worker has a set, whether its record names them or not; then the tokens
  Returns {0, 0, then for each find: its key, what is wrong, 1 if it was repaired}.
  Repairs the marks and notes of the worker. Publishes nothing. O(tokens x queues).
]]
--- @include "finds"
--- @include "marks"
--- @include "returned"

local P, worker, args = KEYS[1], ARGV[2], ARGV
local check = new_check(P, ARGV[1])
local first_token = 4 + tonumber(ARGV[3])

-- The queues where its processes can be: those of its record, or for leases all; and those where it was seen to have a
-- set.
local queues = {}
for i = 4, first_token - 1 do
  queues[#queues + 1] = args[i]
end
if worker == LEASE then
  for _, queue in ipairs(try('ZRANGE', P .. 'names', 0, -1) or {}) do
    queues[#queues + 1] = queue
  end
else
  for _, field in ipairs(try('HKEYS', P .. 'worker:' .. worker) or {}) do
    queues[#queues + 1] = string.match(field, '^[qr]:(.*)$')
  end
end

local function is_held(token)
  for _, queue in ipairs(queues) do
    for _, set in ipairs(keys_of_holder(P, worker, queue)) do
      if try('HEXISTS', set, token) ~= 0 or try('HEXISTS', set, 'j' .. token) ~= 0 then
        return true -- a set of the wrong type counts too, because nobody knows
      end
    end
  end
end

local gone = {}
for i = first_token, #args do
  gone[#gone + 1] = not is_held(args[i]) and args[i] or nil
end

local function look(key, thing)
  local left = {}
  for _, token in ipairs(gone) do
    left[#left + 1] = try('HEXISTS', key, token) == 1 and token or nil
  end
  if #left > 0 then
    note_find(check, key, 'has ' .. plural(#left, thing) .. ' without a process', function()
      redis.call('HDEL', key, unpack(left))
      return 'removed'
    end)
  end
end

look(P .. 'marks:' .. worker, 'mark')
look(P .. 'notes:' .. worker, 'note')
return check.answer
