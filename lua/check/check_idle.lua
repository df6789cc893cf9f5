--[[
  check_idle: do those who wait for a queue's tasks serve it? Entries of the dead and of those whose hands are full may
  be there: whoever meets them removes them.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": put right what can be     ARGV[2] queue     ARGV[3] from which place in the idle set
  Returns {0, from which place to go on, -1: nowhere, then for each find key, what is wrong, 1 if it was put right}.
  Looks at 100 entries. Publishes nothing. O(entries).
]]
--- @include "finds"

local P, queue, from = KEYS[1], ARGV[2], tonumber(ARGV[3])
local check = new_check(P, ARGV[1])
local idle = P .. 'idle:' .. queue
local PAGE = 100

local page = try('ZRANGE', idle, from, from + PAGE - 1) or {}
local kept = 0
for _, worker in ipairs(page) do
  local limit = redis.pcall('HGET', P .. 'worker:' .. worker, 'q:' .. queue)
  if limit and limit ~= '-' then -- or a record of the wrong type: nobody knows
    kept = kept + 1
  else
    find(check, idle, "names the worker '" .. worker .. "', which does not serve this queue", function()
      redis.call('ZREM', idle, worker)
      return 'removed it'
    end)
    kept = kept + (check.repair and 0 or 1)
  end
end
check.answer[2] = #page == PAGE and from + kept or -1
return check.answer
