--[[
  check_returned: is what came back to a queue where its list says, and do takes know of it?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] queue     ARGV[3] the place in the list to begin at
  Returns {0, the place to go on from, -1: that was all; then for each find: its key, what is wrong, 1 if it was
  repaired}. Looks at 100 members. Repairs P:returned, and the field `returned`.
  Publishes to the workers that get tasks, and to those who listen. O(members).
]]
--- @include "finds"
--- @include "due"
--- @include "available"

local P, queue, from = KEYS[1], ARGV[2], tonumber(ARGV[3])
local check = new_check(P, ARGV[1], function()
  return can_move_due(P, queue) and Jobs.are_sound(P, queue)
end)
local returned, key = P .. 'returned:' .. queue, P .. 'queue:' .. queue
local PAGE = 100
check.answer[2] = -1
local page, empty = try('ZRANGE', returned, from, from + PAGE - 1, 'WITHSCORES'), {}
if not page or not try('HLEN', key) then
  return check.answer
end
for i = 1, #page, 2 do
  local field, home = parse_returned(page[i])
  local is_there = field and try('HEXISTS', home_key(P, home, queue), field)
  local is_job = field and is_job_field(field)
  if is_there == 0 or not field or is_job ~= (tonumber(page[i + 1]) < 0) then
    empty[#empty + 1] = page[i]
  end
end
local kept = #page / 2
if #empty > 0 then
  note_find(check, returned, 'has ' .. plural(#empty, 'member') .. ' without a task or job', function()
    redis.call('ZREM', returned, unpack(empty))
    kept = kept - #empty
    return 'removed'
  end)
end
check.answer[2] = #page == 2 * PAGE and from + kept or -1

-- Without the field nobody looks at what came back. With it and nothing there, a take finds that out.
local tasks, jobs = count_returned(P, queue)
if from == 0 and tasks + jobs > 0 and redis.call('HEXISTS', key, 'returned') == 0 then
  note_find(check, key, 'does not say that something came back', function()
    redis.call('HSET', key, 'returned', '1')
    hand_over_waiting(P, queue)
    return 'said so'
  end)
end
if from == 0 and jobs > 0 and redis.call('HEXISTS', key, 'due') == 0 then
  note_find(check, key, 'does not say that jobs are to go to their places', function()
    note_due(P, queue, now_ms())
    return 'said so'
  end)
end
return check.answer
