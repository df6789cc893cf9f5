--[[
  check_home: does what lies in a home come out again? It must be among what came back to the queue, or a worker must be
  about to take it up.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] the home's name     ARGV[3] queue
  Returns {0, the highest token in it or 0, then for each find: its key, what is wrong, 1 if it was repaired}.
  Repairs P:returned, and the home. Publishes to the workers that get tasks, and to those who listen.
  O(what is in it, and registered workers).
]]
--- @include "chunk"
--- @include "finds"
--- @include "drawn"
--- @include "retire"
--- @include "where"

local P, home, queue = KEYS[1], ARGV[2], ARGV[3]
local check = new_check(P, ARGV[1])
local key, returned = home_key(P, home, queue), P .. 'returned:' .. queue
local fields = try('HKEYS', key)
if not fields or not try('ZCARD', returned) then
  return check.answer
end

local function is_to_be_taken_up()
  for _, worker in ipairs(all_holders(P)) do
    for _, mine in ipairs(keys_of_holder(P, worker, queue)) do
      if mine == key then
        return true
      end
    end
  end
end

-- Does the record of the job say that it is elsewhere? A record that cannot be read says nothing.
local function is_stray(field)
  local job = where_is(P, redis.call('HGET', key, field))
  return job == false or (job and not (job.state == 'running' and 'j' .. (job.token or '') == field))
end

local highest, newest, lost, strays = highest_drawn(P), 0, {}, {}
local is_known = is_to_be_taken_up()
for from = 1, #fields, CHUNK do
  local members = {}
  for i = from, math.min(from + CHUNK - 1, #fields) do
    newest = math.max(newest, drawn_number(token_of(fields[i]), highest) or 0)
    members[#members + 1] = fields[i] .. ':' .. home
  end
  local scores = is_known and {} or redis.call('ZMSCORE', returned, unpack(members))
  for i = 1, is_known and 0 or #members do
    local field = fields[from + i - 1]
    if not scores[i] then
      local list = is_job_field(field) and is_stray(field) and strays or lost
      list[#list + 1] = field
    end
  end
end
if newest > 0 then
  check.answer[2] = token_text(newest)
end
local function note(list, what, done, mend)
  if #list > 0 then
    note_find(check, key, what, function()
      local wrong = damaged_key_of(P, queue)
      if wrong then
        return nil, wrong
      end
      mend()
      hand_over_waiting(P, queue)
      hand_over_jobs(P)
      return done
    end)
  end
end
note(lost, 'holds ' .. plural(#lost, 'task') .. ' that would never come out', 'given back to the front of the queue',
function()
  add_returned(P, queue, home, lost, {})
  settle(P, queue)
end)
note(strays, 'holds ' .. plural(#strays, 'job') .. ' that are elsewhere or gone', 'removed', function()
  for _, field in ipairs(strays) do
    redis.call('HDEL', key, field)
  end
end)
return check.answer
