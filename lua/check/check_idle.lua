--[[
  check_idle: do the workers in a queue's idle set serve the queue? Entries of dead workers, and of those whose hands
  are full, may be there: the script that meets such an entry removes it.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] queue     ARGV[3] the place in the idle set to begin at
  Returns {0, the place to go on from, -1: that was all; then for each find: its key, what is wrong, 1 if it was
  repaired}. Looks at 100 entries. Repairs the idle set. Publishes nothing. O(entries).
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
  if limit and limit ~= '-' then -- a record of the wrong type answers an error: nobody knows, so it is no find
    kept = kept + 1
  else
    note_find(check, idle, "names the worker '" .. worker .. "', which does not serve this queue", function()
      redis.call('ZREM', idle, worker)
      return 'removed it'
    end)
    kept = kept + (check.repair and 0 or 1)
  end
end
check.answer[2] = #page == PAGE and from + kept or -1
return check.answer
