--[[
  Jobs that become ready by themselves: scheduled ones, and those that a recurring job makes. A piece of jobs.
]]
--- @within "jobs"

local INHERITED = {'data', 'priority', 'retries', 'limit', 'backoff', 'backoff_max', 'backoff_kind', 'jitter'}

local JOB_ID_MAX = 200

-- Is the id free for a new job? A job that is complete or failed makes room.
local function can_be_made(P, id)
  local old, is_free = Jobs.read(P, id)
  if #id > JOB_ID_MAX or not (old or is_free)
      or (old and (not Jobs.is_over(old) or not Jobs.are_sound(P, old.queue))) then
    return false
  end
  if old then
    Jobs.make_room(P, old)
  end
  return true
end
Jobs.can_be_made = can_be_made

-- Makes a unique task that waits, unless its equal is alive: then nil.
function Jobs.make_unique(P, queue, task)
  local id = Jobs.unique_id(queue, task)
  if can_be_made(P, id) then
    Jobs.make(P, id, queue, {data = task, unique = '1'}, {}, 0, {})
    return true
  end
end

local EVERY_LEAST_MS = 1000

-- Makes the jobs that a recurring job should have made by now, at most `n`. Returns how many times are dealt with: a
-- time whose id is not free is left out.
local function recur(P, job, n)
  local now, every, at = now_ms(), math.max(EVERY_LEAST_MS, number(job, 'every')), number(job, 'due')
  local missed, backlog = math.floor((now - at) / every) + 1, number(job, 'backlog')
  if backlog > 0 and missed > backlog then
    Jobs.log_event(P, job, 'skipped', missed - backlog .. ' times beyond the backlog')
    at = at + (missed - backlog) * every
    missed = backlog
  end
  local count, made = math.min(missed, n), number(job, 'made')
  local given, next_at = {}, at + count * every
  for _, field in ipairs(INHERITED) do
    given[field] = job[field]
  end
  -- Its own next time comes first: after an error it still goes on.
  redis.call('ZADD', Jobs.index(P, 'recurring', job.queue), next_at, Jobs.member(job))
  Jobs.set(job, 'due', string.format('%.0f', next_at))
  Jobs.set(job, 'made', made + count)
  Jobs.save(P, job)
  for i = 1, count do
    local id = job.id .. '-' .. (made + i)
    if can_be_made(P, id) then
      Jobs.make(P, id, job.queue, given, tags_of(job), 0, {}, at + (i - 1) * every)
    else
      Jobs.log_event(P, job, 'skipped', id)
    end
  end
  return count
end

-- Moves the jobs of one queue whose time has come: at most `most` of them, and no more than so many bytes of data
-- unless the first has more. `index` is its index of scheduled or of recurring jobs. Returns how many and how many
-- bytes.
function Jobs.move_due(P, queue, now, index, most, most_bytes)
  local moved, bytes, is_recurring = 0, 0, index == Jobs.index(P, 'recurring', queue)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', now, 'LIMIT', 0, most)) do
    local size = try('HSTRLEN', P .. 'job:' .. Jobs.id_of(member), 'data') or 0
    if moved >= most or (moved > 0 and bytes + size > most_bytes) then
      break
    end
    local n, job = 1, Jobs.of_member(P, is_recurring and 'recurring' or 'scheduled', queue, member)
    if job and is_recurring then
      local room = math.floor((most_bytes - bytes) / math.max(1, size))
      n = recur(P, job, math.max(1, math.min(READY_MAX, most - moved, room)))
    elseif job then
      Jobs.wait(P, job, 'ready')
    end
    moved, bytes = moved + math.max(1, n), bytes + math.max(1, n) * size
  end
  return moved, bytes
end

function Jobs.make_recurring(P, id, queue, given, tags, at_ms)
  Jobs.start_recurring(P, new_record(P, id, queue, given, tags), at_ms)
end

-- A complete or failed job makes room for a new one under its id. Jobs that wait for this id go on waiting.
function Jobs.make_room(P, job)
  leave(P, job)
  Jobs.untag_all(P, job)
  Jobs.track(P, job, false)
  redis.call('DEL', P .. 'job:' .. job.id, P .. 'history:' .. job.id)
end

-- Takes a job out of its state, on its way to another queue. arrive() or start_recurring() must follow.
function Jobs.leave_queue(P, job)
  leave(P, job)
  job.state = nil
end

function Jobs.start_recurring(P, job, at_ms)
  leave(P, job)
  new_place(P, job)
  note_name(P, job.queue)
  Jobs.set(job, 'worker', nil)
  Jobs.set(job, 'token', nil)
  Jobs.set(job, 'due', string.format('%.0f', at_ms))
  enter(P, job, 'recurring', at_ms)
  Jobs.save(P, job)
  note_due(P, job.queue, at_ms)
  Jobs.log_event(P, job, 'put', '')
end
