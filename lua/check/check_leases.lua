--[[
  check_leases: has each lease its process, and has each process its lease's end?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] queue     ARGV[3] the place among the leases to begin at
    ARGV[4] "1": something was found on the pages before
  Returns {0, the place to go on from, -1: that was all; then for each find: its key, what is wrong, 1 if it was
  repaired}. Looks at 100 leases; on the last page, if the numbers differ, at all processes.
  Repairs P:leases of the queue and the field `due`. Publishes to those who wait, and to the timer's keeper. O(leases).
]]
--- @include "finds"
--- @include "due"
--- @include "drawn"
--- @include "clock"

local P, queue, from = KEYS[1], ARGV[2], tonumber(ARGV[3])
local check = new_check(P, ARGV[1])
local leases, set = P .. 'leases:' .. queue, P .. 'processing:' .. LEASE .. ':' .. queue
local PAGE = 100
if not (try('ZCARD', leases) and try('HLEN', set) and try('HLEN', P .. 'queue:' .. queue)) then
  check.answer[2] = -1
  return check.answer
end

local page = redis.call('ZRANGE', leases, from, from + PAGE - 1)
local empty, kept = {}, #page
for _, field in ipairs(page) do
  empty[#empty + 1] = redis.call('HEXISTS', set, field) == 0 and field or nil
end
if #empty > 0 then
  note_find(check, leases, 'has ' .. plural(#empty, 'lease') .. ' without a process', function()
    redis.call('ZREM', leases, unpack(empty))
    kept = kept - #empty
    return 'removed'
  end)
end
check.answer[2] = #page == PAGE and from + kept or -1

-- By now each lease has its process, or was a find. So if there are as many leases as processes, each process has one.
local function look_for_endless()
  local highest, endless, now = highest_drawn(P), {}, now_ms()
  for _, field in ipairs(redis.call('HKEYS', set)) do
    local is_endless = drawn_number(token_of(field), highest) and not redis.call('ZSCORE', leases, field)
    endless[#endless + 1] = is_endless and field or nil
  end
  if #endless > 0 then
    note_find(check, set, 'holds ' .. plural(#endless, 'task') .. ' under a lease without an end', function()
      for _, field in ipairs(endless) do
        redis.call('ZADD', leases, now, field)
      end
      note_due(P, queue, now)
      return 'it ends now'
    end)
  end
end

if #page < PAGE and (ARGV[4] == '1' or #empty > 0 or redis.call('HLEN', set) ~= redis.call('ZCARD', leases)) then
  look_for_endless()
end
return check.answer
