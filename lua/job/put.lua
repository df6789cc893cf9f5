--[[
  put: put a job. It is new, or takes the place of one that is complete or failed; or it changes one that is alive. Or
  put a unique task: a job that is nothing but a task whose equals are refused while it is alive.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] id, "": a unique task; its id is made of queue and data
    ARGV[3] "1": change one that is alive or failed, and move it here     ARGV[4] how many tags, t
    ARGV[5] how many jobs it waits for, a
    ARGV[6...] t tags; a ids of jobs; then fields of the record (doc/keys.md) and their values, pairs, as far as they
      are given. Besides the fields: `delay`, ms until it is ready; `every`, which makes it recur; `new_retries`, the
      retries of a job that is new
  Returns {0, id}; {E_EXISTS, what it is, id} if a job of this id is alive and not to be changed, or is a unique task;
  {E_INVALID, id} if it would wait for itself, or for a recurring job; {E_INVALID, id, "recurs"} if it recurs, or would,
  and waits for others, or they for it; {E_TOO_BIG, id} if too many jobs are tied together to see whether it would wait
  for itself; {E_REDIS, key} for a key of the wrong type: nothing was changed. A full Redis refuses the call before
  anything is changed.
  Writes the job's record, history, tags and dependencies, and the indexes that it leaves and enters. The record of a
  job that stays as it is is written again.
  Publishes to the worker that gets it, to one that loses it, and to those who listen.
  O(log n, tags, and the jobs that it waits for).
]]
--- @include "jobs"
--- @include "available"
--- @include "clock"

local P, queue = KEYS[1], ARGV[1]
local n_tags, n_after = tonumber(ARGV[4]), tonumber(ARGV[5])
local tags, after, given = {}, {}, {}
for i = 6, 5 + n_tags do
  tags[#tags + 1] = ARGV[i]
end
for i = 6 + n_tags, 5 + n_tags + n_after do
  after[#after + 1] = ARGV[i]
end
for i = 6 + n_tags + n_after, #ARGV, 2 do
  given[ARGV[i]] = ARGV[i + 1]
end
local delay = tonumber(given.delay or nil)
local new_retries = given.new_retries
given.delay, given.new_retries = nil, nil
local id = ARGV[2]
if id == '' then
  id, given.unique = Jobs.unique_id(queue, given.data), '1'
end
local now = now_ms()

local old, is_free = Jobs.read(P, id)
local is_alive = old and not Jobs.is_over(old)
local is_change = old and ARGV[3] == '1' and old.state ~= 'complete' and not old.unique
if not old and not is_free then
  return {E_REDIS, P .. 'job:' .. id}
end
if not Jobs.can_arrive(P, queue) or (old and not Jobs.are_sound(P, old.queue))
    or (old and not Jobs.can_take_away(P, old)) or not Jobs.can_depend(P, id, after) then
  return {E_REDIS, damaged}
end
if Jobs.is_ending(P, id) then
  return {E_EXISTS, 'ending', id}
end
if is_alive and Jobs.is_cancelled_now(P, old) then
  old, is_alive, is_change = nil, false, false
end
if is_alive and not is_change then
--- @include "write_again"
  write_again(P .. 'job:' .. id)
  return {E_EXISTS, old.unique and not given.unique and 'a unique task' or old.state, id}
end
local function find_obstacle()
--- @include "circle"
  return obstacle_to_wait(P, id, after)
end
local obstacle = n_after > 0 and find_obstacle()
if obstacle then
  return obstacle
end
-- A recurring job never completes: a job that waited for it would wait for ever.
if (given.every and redis.call('ZCARD', P .. 'dependents:' .. id) > 0)
    or (n_after > 0 and (given.every or (is_change and old.every))) then
  return {E_INVALID, id, 'recurs'}
end

-- The first write must need memory, so that a full Redis refuses the whole call. The first write of a new record does.
if old then
  redis.call('HSET', P .. 'job:' .. id, 'queue', old.queue)
  Jobs.take_away(P, old)
end

local job = old
if is_change then
  local from = old.queue
  for field, value in pairs(given) do
    Jobs.set(job, field, value)
  end
  if n_tags > 0 then
    Jobs.untag_all(P, job)
    for _, tag in ipairs(tags) do
      Jobs.tag(P, job, tag)
    end
  end
  if given.tracked then
    Jobs.track(P, job, true)
  end
  if n_after > 0 or job.every then -- a recurring job waits for nothing
    Jobs.remove_dependencies(P, id)
  end
  Jobs.leave_queue(P, job)
  Jobs.set(job, 'queue', queue)
  Jobs.set(job, 'retried', nil)
  Jobs.set(job, 'crashes', nil)
  Jobs.set(job, 'suspect', nil)
  Jobs.set(job, 'group', nil)
  Jobs.set(job, 'message', nil)
  local due = delay and now + delay or Jobs.number(job, 'due')
  if job.every then
    Jobs.start_recurring(P, job, math.max(now, due))
  else
    Jobs.arrive(P, job, due, after, from == queue and 'put' or 'moved', from)
  end
else
  if old then
    Jobs.make_room(P, old)
  end
  given.retries = given.retries or new_retries
  if given.every then
    Jobs.make_recurring(P, id, queue, given, tags, now + (delay or 0))
  else
    Jobs.make(P, id, queue, given, tags, now + (delay or 0), after)
  end
end
hand_over_jobs(P)
return {0, id}
