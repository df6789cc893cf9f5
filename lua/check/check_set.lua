--[[
  check_set: may these tasks and jobs be in this holder's hands? If not, they go back to the front of their queue, in
  the order in which they were taken; jobs to where they were; those that were cancelled are dropped. Jobs whose records
  say that they are elsewhere, and jobs that are gone, are removed from the set.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] worker, or ".lease"     ARGV[3] queue
  Returns {0, the highest token in it or 0, then for each find: its key, what is wrong, 1 if it was repaired}.
  Repairs the set, the queue, the holders of leases, and the counts `held` and `running`.
  Publishes to the worker that loses tasks, to those that get them, and to those who listen.
  O(tasks in the set, and registered workers).
]]
--- @include "retire"
--- @include "counts"
--- @include "drawn"
--- @include "finds"
--- @include "where"

local P, worker, queue = KEYS[1], ARGV[2], ARGV[3]
local check = new_check(P, ARGV[1])
local set = P .. 'processing:' .. worker .. ':' .. queue

-- Is the job in these hands under this field, by its record?
local function is_here(job, field)
  return job.state == 'running' and job.queue == queue and job.worker == worker and 'j' .. (job.token or '') == field
end

-- Removes jobs that are not in these hands. Nothing is lost: only their ids are here.
local function remove_fields(fields)
  for _, field in ipairs(fields) do
    unmark(P, worker, token_of(field))
    redis.call('HDEL', set, field)
    try('ZREM', P .. 'leases:' .. queue, field)
    local token = token_of(field)
    if worker == LEASE then
      --- @inline "forget_holder"
    end
  end
end

-- A job goes back to where it waited: its id is no task. Where that has a wrong type, the next check finds it in no
-- hands.
local function give_back_job(field)
  local job, kind = Jobs.read(P, redis.call('HGET', set, field)), unmark(P, worker, token_of(field))
  local is_mine = job and is_here(job, field) and Jobs.are_sound(P, queue)
  remove_fields({field})
  if is_mine and kind then
    Jobs.cancel(P, job, worker)
  elseif is_mine then
    Jobs.give_back(P, job, 'given-back')
  end
end

-- Gives back the tasks and jobs of fields that are no tokens.
local function give_back_fields(fields)
  local cancelled = 0
  for from = 1, #fields, CHUNK do
    local chunk, tasks = {unpack(fields, from, math.min(from + CHUNK - 1, #fields))}, {}
    for _, field in ipairs(chunk) do
      local is_job = is_job_field(field)
      local kind = not is_job and unmark(P, worker, field)
      if is_job then
        give_back_job(field)
      elseif not kind then
        tasks[#tasks + 1] = redis.call('HGET', set, field)
      end
      cancelled = cancelled + (kind == CANCELLED and 1 or 0)
    end
    if #tasks > 0 then
      redis.call('RPUSH', P .. 'queues:' .. queue, unpack(tasks))
    end
    redis.call('HDEL', set, unpack(chunk)) -- last: after an error a task is there twice rather than lost
  end
  count_cancelled(P, queue, cancelled)
end

-- Nobody knows whether the tasks that went back had been counted, so all is counted again. The worker is told, and its
-- ends are carried out one by one from now on, because some of its processes may be gone.
local function count_again()
  local record = redis.call('HGETALL', P .. 'worker:' .. worker)
  local epoch = set_flag(P, worker, FLAG_ENDED)
  if epoch then
    local held = count_held(P, worker, queues_of(record))
    if held then
      redis.call('HSET', P .. 'worker:' .. worker, 'held', held)
    end
    tell_worker(worker, epoch, 'R', '')
  end
  set_running(P, queue, count_running(P, queue))
  hand_over_waiting(P, queue)
  hand_over_jobs(P)
end

-- A find, repaired by get_rid(), unless a key has a wrong type.
local function find_misplaced(what, done, get_rid)
  note_find(check, set, what, function()
    local obstacle = damaged_key(P, worker, {queue}, {})
    if obstacle then
      return nil, obstacle
    end
    get_rid()
    count_again()
    return done
  end)
end

local record = try('HMGET', P .. 'worker:' .. worker, 'epoch', 'q:' .. queue)
local fields = try('HKEYS', set)
if not record or not fields then
  return check.answer
end

-- Does the record of the job under this field say that it is elsewhere? A record that cannot be read says nothing. A
-- job that was cancelled is gone, and its process stays until it ends.
local function is_stray(field)
  local job = where_is(P, redis.call('HGET', set, field))
  if try('HGET', P .. 'marks:' .. worker, token_of(field)) == CANCELLED then
    return false
  end
  return job == false or (job and not is_here(job, field))
end

local BACK = 'given back to the front of the queue'
local highest = highest_drawn(P)
local odd, strays, newest = {}, {}, 0
for _, field in ipairs(fields) do
  local is_job = is_job_field(field)
  local number = (is_job or #field == TOKEN_LEN) and drawn_number(token_of(field), highest)
  if number then
    newest = math.max(newest, number)
    strays[#strays + 1] = is_job and is_stray(field) and field or nil
  else
    odd[#odd + 1] = field
  end
end
if newest > 0 then
  check.answer[2] = token_text(newest)
end
if #odd > 0 then
  find_misplaced('holds ' .. plural(#odd, 'task') .. ' under a field that is no token', BACK, function()
    give_back_fields(odd)
  end)
end
if #strays > 0 then
  find_misplaced('holds ' .. plural(#strays, 'job') .. ' that are elsewhere or gone', 'removed', function()
    remove_fields(strays)
  end)
end

-- A worker whose record has no epoch is a find of check_worker, which gives back all that the worker holds.
local is_registered = record[1] or redis.call('EXISTS', P .. 'worker:' .. worker) == 1
local is_served = worker == LEASE or (is_registered and not record[1]) or (record[2] and record[2] ~= '-')
local rest = #fields - #odd - #strays
if rest > 0 and not is_served then
  local who = is_registered and 'a worker that does not serve this queue' or 'a worker that is not registered'
  find_misplaced('holds ' .. plural(rest, 'task') .. ' for ' .. who, BACK, function()
    give_back_set(P, worker, queue)
  end)
end
return check.answer
