--[[
  How a job ends, or begins again: complete, on to a next queue, retried, crashed, failed, cancelled, forgotten. A piece
  of jobs.
]]
--- @within "jobs"

-- A job has ended; `how`: "complete", "failed", "cancelled", or "gone": removed in any other way. Every end of a job
-- goes through here, once its record says so or is removed, and before the lists of ended jobs are trimmed. A job that
-- had ended before may still be cancelled or go: then its state says how it had ended.
function Jobs.ended(P, job, how)
  let_go(P, how, job.id, job.queue)
  if job.batch and not (how == 'gone' and Jobs.is_over(job)) then
    Batches.member_ended(P, job.batch, 'j' .. job.id, how, job.id)
  end
  if job.made_by then
    Jobs.let_recur(P, job.made_by, job.id)
  end
end

-- A job that had failed is to run again: replayed, or put in its own place. Its record says "failed" still.
function Jobs.unended(P, job)
  if job.batch then
    Batches.member_began(P, job.batch, 'j' .. job.id, 'failed')
  end
end

-- Removes all of a job, besides what waits for it.
local function remove_all(P, job)
  leave(P, job)
  Jobs.untag_all(P, job)
  Jobs.track(P, job, false)
  Jobs.remove_dependencies(P, job.id)
  redis.call('DEL', P .. 'job:' .. job.id, P .. 'history:' .. job.id)
  if job.unsettled then
    Keys.settle_left(P, job)
  end
end

-- Removes all of a job.
function Jobs.forget(P, job)
  remove_all(P, job)
  Jobs.ended(P, job, 'gone')
end

-- The same for the job of an entry of the failed list, unless the id has another job by now. Removes a record that
-- cannot be read too, because its id would not be free otherwise. `why`: the setting that drops it, or "". Did the
-- entry go with the job?
function Jobs.forget_failed(P, queue, entry, id, why)
  local job = Jobs.read_head(P, id)
  if job and job.state == 'failed' and job.queue == queue and job.entry == entry then
    Jobs.publish_event(P, job, now_ms(), 'dropped', why)
    Jobs.forget(P, job)
    return true
  elseif not job and try('HLEN', P .. 'job:' .. id) then
    redis.call('DEL', P .. 'job:' .. id, P .. 'history:' .. id)
    Jobs.ended(P, {id = id, queue = queue}, 'gone')
  end
end

-- A unique task fails: its entry is that of a task, and its record goes. So its id is free at once.
local function fail_unique(P, job, worker, token, group, message)
  local data = job.data or try('HGET', P .. 'job:' .. job.id, 'data') or '' -- it may have been read without
  remove_all(P, job)
  Jobs.ended(P, job, 'failed')
  Jobs.ended(P, job, 'gone')
  Failed.add(P, job.queue, now_ms(), 'u' .. token, worker, group, message, data)
end

function Jobs.fail(P, job, worker, token, group, message)
  if job.unique then
    return fail_unique(P, job, worker, token, group, message)
  end
  local name = Jobs.name_of(P, job, worker)
  leave(P, job)
  Jobs.set(job, 'state', 'failed')
  Jobs.set(job, 'since', string.format('%.0f', now_ms()))
  Jobs.set(job, 'group', group)
  Jobs.set(job, 'message', message)
  Jobs.set(job, 'suspect', nil)
  Jobs.set(job, 'due', nil)
  Jobs.set(job, 'worker', nil)
  Jobs.set(job, 'token', nil)
  Jobs.set(job, 'entry', Failed.draw_entry(P))
  Jobs.save(P, job) -- before the list is trimmed, which may drop this very job
  Jobs.count(P, job, 'failed')
  Jobs.log_event(P, job, 'failed', group, name)
  Jobs.ended(P, job, 'failed')
  Failed.add(P, job.queue, now_ms(), token, worker, group, message, job.id, job.entry)
end

local TRIM_PER_COMPLETION, TRIM_TOGETHER_MAX = 10, 300
-- Queue -> how many more of its jobs may complete in this script before trim_complete() must look again.
local spare = {}

-- So many jobs of a queue are `completed` now. Removes complete jobs that are too many or too old, at most n, and
-- returns how many.
local function trim_complete(P, queue, n, completed)
  local index, now = Jobs.index(P, 'complete', queue), now_ms()
  local most, longest = setting(P, queue, KEEP_JOBS), setting(P, queue, KEEP_JOBS_MS)
  if spare[queue] and spare[queue] >= completed then
    spare[queue] = spare[queue] - completed
    return 0
  end
  for i = 1, n do
    local oldest = redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')
    local count = oldest[1] and redis.call('ZCARD', index) or 0
    if count == 0 or (count <= most and tonumber(oldest[2]) > now - longest) then
      spare[queue] = count > 0 and most - count
      return i - 1
    end
    local job = Jobs.read_head(P, Jobs.id_of(oldest[1]))
    if job and job.state == 'complete' and Jobs.member(job) == oldest[1] then
      Jobs.forget(P, job)
    else
      redis.call('ZREM', index, oldest[1])
    end
  end
  return n
end
Jobs.trim_complete = trim_complete

-- A job is done. `result` nil: none.
function Jobs.complete(P, job, worker, result)
  worker = Jobs.name_of(P, job, worker)
  if job.unique then -- nothing of it stays
    remove_all(P, job)
    return Jobs.ended(P, job, 'complete')
  end
  local ran = now_ms() - number(job, 'since')
  leave(P, job)
  Jobs.set(job, 'suspect', nil)
  Jobs.set(job, 'worker', nil)
  Jobs.set(job, 'token', nil)
  Jobs.set(job, 'group', nil)
  Jobs.set(job, 'message', nil)
  Jobs.set(job, 'result', result)
  enter(P, job, 'complete', now_ms())
  Jobs.save(P, job)
  Jobs.count(P, job, 'completed', 'run', math.max(0, ran))
  Jobs.log_event(P, job, 'completed', worker, worker)
  Jobs.ended(P, job, 'complete')
  if not Jobs.moving then -- otherwise complete_together() does it
    trim_complete(P, job.queue, TRIM_PER_COMPLETION, 1)
  end
end

-- Notes of which jobs of a list of ids nobody waits for the end: mostly nobody does for any.
local function note_who_waits(P, ids)
  local keys = {}
  for i, id in ipairs(ids) do
    keys[2 * i - 1], keys[2 * i] = P .. 'dependents:' .. id, P .. 'followers:' .. id
  end
  local is_none = redis.call('EXISTS', unpack(keys)) == 0
  for i = 1, is_none and #ids or 0 do
    nobody_waits[ids[i]] = true
  end
end

-- Many jobs of one queue are done, at most CHUNK ids; `complete` calls Jobs.complete() for each of them.
function Jobs.complete_together(P, queue, ids, complete)
  note_who_waits(P, ids)
  Jobs.gather_moves()
  complete()
  Jobs.end_moves()
  trim_complete(P, queue, math.min(TRIM_PER_COMPLETION * #ids, TRIM_TOGETHER_MAX), #ids)
  nobody_waits = {}
end

-- A job is done here, and goes on to a next queue: after a delay, and after other jobs (a list of ids, may be empty).
function Jobs.advance(P, job, worker, result, queue, delay_ms, after)
  worker = Jobs.name_of(P, job, worker)
  local ran, from = now_ms() - number(job, 'since'), job.queue
  leave(P, job)
  job.state = nil
  Jobs.set(job, 'result', result)
  Jobs.set(job, 'suspect', nil)
  Jobs.set(job, 'retried', nil)
  Jobs.set(job, 'crashes', nil)
  Jobs.set(job, 'group', nil)
  Jobs.set(job, 'message', nil)
  Jobs.count(P, job, 'completed', 'run', math.max(0, ran))
  Jobs.log_event(P, job, 'advanced', queue, worker)
  Jobs.set(job, 'queue', queue)
  Jobs.arrive(P, job, now_ms() + delay_ms, after, 'put', from)
end

local DELAY_MAX_MS = 10 * 366 * DAY_MS
local DOUBLINGS_MAX = 60 -- no delay is longer; the number stays finite

-- What a record without a backoff means (include/muster/job.h): it costs a put nothing.
local BACKOFF_DEFAULT = {backoff = '1000', backoff_max = '3600000', backoff_kind = 'exponential', jitter = '20'}

local function backoff(job, retried)
  local own = job.backoff and job or BACKOFF_DEFAULT
  local delay, most = number(own, 'backoff'), number(own, 'backoff_max')
  if own.backoff_kind == 'exponential' then
    delay = delay * 2 ^ math.min(retried - 1, DOUBLINGS_MAX)
  end
  delay = math.min(delay, most > 0 and most or delay)
  -- A random part, so that jobs that failed together do not come back together. It is made of the clock, and of the
  -- place, because the clock stands still while a script runs.
  local chance = tonumber(string.sub(redis.sha1hex(job.place .. now_us()), 1, 6), 16) / 2 ^ 24
  return math.floor(delay - delay * number(own, 'jitter') / 100 * chance)
end

-- A job is a suspect no more. As with any task, the deaths of a unique one count no more then.
function Jobs.acquit(job)
  Jobs.set(job, 'suspect', nil)
  if job.unique then
    Jobs.set(job, 'crashes', nil)
  end
end

-- A unique task is retried as often as its handlers say, like any task.
local function retry_unique(P, job, worker, delay_ms)
  Jobs.acquit(job)
  if delay_ms > 0 then
    Jobs.schedule(P, job, now_ms() + math.min(delay_ms, DELAY_MAX_MS), 'retried', '', worker)
  else
    Jobs.wait(P, job, 'retried', '', worker)
  end
end

-- A job that would be retried has had all its retries. Its group says the cause; that the retries are used up stands in
-- message and history. A job that may not be retried at all fails by its cause alone.
local function fail_exhausted(P, job, worker, token, group, message)
  local retries = number(job, 'retries')
  if not group or group == '' then -- the last retry's group, with its message
    group, message = job.group or 'failed-retries', message and message ~= '' and message or job.message
  end
  message = message or ''
  if retries > 0 then
    local used_up = retries == 1 and 'its one retry is used up' or 'all ' .. retries .. ' retries are used up'
    message = message == '' and used_up or message .. ' (' .. used_up .. ')'
    Jobs.log_event(P, job, 'exhausted', tostring(retries), Jobs.name_of(P, job, worker))
  end
  Jobs.fail(P, job, worker, token, group, message)
end

-- Retries a job, or fails it if it has had all its retries: then true. `delay_ms` nil: its own backoff. Group and
-- message nil or '': they stay as they are.
function Jobs.retry(P, job, worker, token, delay_ms, group, message)
  if job.unique then
    retry_unique(P, job, worker, delay_ms or 0)
    return false
  end
  local retried = number(job, 'retried') + 1
  if retried > number(job, 'retries') then
    fail_exhausted(P, job, worker, token, group, message)
    return true
  end
  worker = Jobs.name_of(P, job, worker)
  Jobs.set(job, 'retried', retried)
  Jobs.acquit(job)
  if group and group ~= '' then
    Jobs.set(job, 'group', group)
    Jobs.set(job, 'message', message ~= '' and message or nil)
  end
  Jobs.count(P, job, 'retried')
  local at_ms = now_ms() + math.min(delay_ms or backoff(job, retried), DELAY_MAX_MS)
  if at_ms > now_ms() then
    Jobs.schedule(P, job, at_ms, 'retried', group, worker)
  else
    Jobs.wait(P, job, 'retried', group, worker)
  end
end

-- A job's holder died. `most` deaths put the job onto the failed list (0: never), with the message `told`, whose %s is
-- how often. Does it live on?
function Jobs.count_crash(P, job, worker, token, most, why, told)
  local crashes = number(job, 'crashes') + 1
  Jobs.set(job, 'crashes', crashes)
  Jobs.set(job, 'suspect', '1')
  Jobs.count(P, job, 'crashed')
  local name = Jobs.name_of(P, job, worker)
  Jobs.publish_event(P, job, now_ms(), 'stalled', why, name)
  if most > 0 and crashes >= most then
    told = string.format(told, crashes == 1 and 'once' or crashes .. ' times')
    Jobs.fail(P, job, worker, token, 'crashed', told)
    return false
  end
  Jobs.save(P, job)
  Jobs.log_event(P, job, 'crashed', name, name)
  return true
end

-- A job is cancelled, and in nobody's hands. `kind`: its process' mark, if it had one; `why`, if nobody has asked for
-- it.
function Jobs.cancel(P, job, worker, kind, why)
  worker = Jobs.name_of(P, job, worker)
  if job.unique and kind ~= DELETED then
    count_cancelled(P, job.queue, 1)
  end
  Jobs.count(P, job, 'cancelled')
  Jobs.publish_event(P, job, now_ms(), 'cancelled', why or '', worker)
  remove_all(P, job)
  Jobs.ended(P, job, 'cancelled')
end

-- A job in somebody's hands is cancelled. It is gone at once, so its id is free; its process is marked, and stays in
-- its set until it ends: no end of it touches a record. A unique task is a task, so it stays until then, too: an equal
-- one must not run beside it.
function Jobs.cancel_running(P, job)
  mark(P, job.worker, {job.token}, CANCELLED)
  if not job.unique then
    Jobs.cancel(P, job, job.worker)
  end
end
