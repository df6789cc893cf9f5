--[[
  What becomes of a batch besides the ends of its members: it is closed, by somebody or by its time; it is cancelled,
  in steps; what an earlier script left is done. A piece of jobs.
]]
--- @within "jobs"

local MEMBERS_CANCELLED_MAX = 100
local BATCHES_CLOSED_MAX = 50

-- `why`: "ttl", "cancel", or ""
function Batches.close(P, batch, why)
  set_batch(P, batch, {state = 'closed', since = now_text(), closed = now_text(), why = why})
  redis.call('ZADD', P .. 'batches', '+inf', batch.id)
  Batches.publish_event(P, batch, 'batch-closed', why)
  return Batches.end_if_over(P, batch)
end

-- Begins to cancel a batch that has not ended: no member comes any more. cancel_some() must follow, or is noted.
function Batches.begin_cancelling(P, batch)
  set_batch(P, batch, {cancel = now_text(), from = '-inf'})
  Batches.publish_event(P, batch, 'batch-cancelled')
  if batch.state == 'open' then
    Batches.close(P, batch, 'cancel')
  end
  if batch.state ~= 'ended' then
    Batches.go_on_later(P, 'k', batch, now_ms() + BATCH_DAMAGED_PAUSE_MS)
  end
end

-- Is the batch that a job names being cancelled, or was it?
function Batches.is_cancelled(P, name)
  local batch = Batches.named(P, name)
  return batch and batch.cancel and true or false
end

-- The job of a member; nil if it is none, or was cancelled just now. False if a key of a wrong type forbids to cancel
-- it.
local function job_to_cancel(P, batch, id)
  local job = Jobs.read_head(P, id)
  if not job or job.batch ~= Batches.name(batch) or Jobs.is_over(job) then
    return nil
  end
  return Jobs.are_sound(P, job.queue) and Jobs.can_take_away(P, job) and job
end

-- Cancels a job, unless it was cancelled with one before it. Returns whether it was in somebody's hands.
local function cancel_member(P, batch, id)
  local job = job_to_cancel(P, batch, id)
  if not job or Jobs.is_cancelled_now(P, job) then
    return false
  elseif Jobs.is_in_hands(P, job) then
    Jobs.cancel_running(P, job)
    return true
  end
  Jobs.remove_dependencies(P, job.id)
  Jobs.cancel(P, job, '')
  return false
end

-- What is next of the members to cancel: {jobs, nested batches; `from`: after which the next ones come, if there are
-- any}.
-- Nil if a key of a wrong type forbids it.
function Batches.next_to_cancel(P, batch)
  local page = redis.call('ZRANGEBYSCORE', P .. 'members:' .. batch.id, range_from(batch.from), '+inf', 'WITHSCORES',
    'LIMIT', 0, MEMBERS_CANCELLED_MAX)
  local found = {jobs = {}, nested = {}, from = #page == 2 * MEMBERS_CANCELLED_MAX and '(' .. page[#page] or nil}
  for i = 1, #page, 2 do
    local id = string.sub(page[i], 2)
    if string.sub(page[i], 1, 1) == 'b' then
      found.nested[#found.nested + 1] = id
    else
      local job = job_to_cancel(P, batch, id)
      if job == false then
        return nil
      end
      found.jobs[#found.jobs + 1] = job and id
    end
  end
  return found
end

-- Cancels these members. Returns how many were in nobody's hands, how many were, and the ids of the nested batches
-- that begin to be cancelled. batch.from is nil after the last ones.
function Batches.cancel_some(P, batch, found)
  batch.from = found.from
  if found.from then
    set_batch(P, batch, {from = found.from})
    Batches.go_on_later(P, 'k', batch, now_ms() + BATCH_DAMAGED_PAUSE_MS)
  else
    redis.call('HDEL', P .. 'batch:' .. batch.id, 'from')
    redis.call('ZREM', P .. 'ended', 'k' .. batch.id)
  end
  local running, begun = 0, {}
  for _, id in ipairs(found.jobs) do
    running = running + (cancel_member(P, batch, id) and 1 or 0)
  end
  for _, id in ipairs(found.nested) do
    local child = Batches.read(P, id)
    if child and not child.cancel and child.state ~= 'ended' and Batches.are_sound(P, id) then
      Batches.begin_cancelling(P, child)
      begun[#begun + 1] = child.state ~= 'ended' and id or nil
    end
  end
  return #found.jobs - running, running, begun
end

-- Goes on with what an earlier script left of a batch: a member of P:ended. Returns how much of what a script may let
-- go that counts as.
function Batches.go_on(P, member)
  local kind, batch = string.sub(member, 1, 1), Batches.read(P, string.sub(member, 2))
  try('ZREM', P .. 'ended', member)
  if batch and kind == 'b' then
    Batches.put_owed(P, batch)
  elseif batch and batch.from then
    local found = Batches.are_sound(P, batch.id) and Batches.next_to_cancel(P, batch)
    if found then
      Batches.cancel_some(P, batch, found)
    end
    if batch.from then
      Batches.go_on_later(P, 'k', batch, now_ms() + (found and 1 or BATCH_DAMAGED_PAUSE_MS))
    end
  end
  return MEMBERS_CANCELLED_MAX
end

-- Closes the open batches that nobody has closed in time. Returns their ids.
local function close_late(P, now)
  local closed = {}
  for _, id in ipairs(try('ZRANGEBYSCORE', P .. 'batches', '-inf', now, 'LIMIT', 0, BATCHES_CLOSED_MAX) or {}) do
    local batch, is_none = Batches.read(P, id)
    if batch and batch.state == 'open' and Batches.are_sound(P, id) then
      closed[#closed + 1] = id
      Batches.close(P, batch, 'ttl')
    elseif is_none then
      redis.call('ZREM', P .. 'batches', id)
    else -- a damaged batch must not hold up the others
      redis.call('ZADD', P .. 'batches', now + BATCH_DAMAGED_PAUSE_MS, id)
    end
  end
  return closed
end

-- Does what is due of batches, and notes when something is due next, of them or of schedules. Returns the ids of those
-- that were closed.
function Batches.move_due(P, now)
  local closed = close_late(P, now)
  local next_due = math.huge
  for _, key in ipairs({P .. 'batches', P .. 'ended', P .. 'crons'}) do
    next_due = math.min(next_due, tonumber((try('ZRANGE', key, 0, 0, 'WITHSCORES') or {})[2]) or math.huge)
  end
  if next_due < math.huge then
    try('ZADD', P .. 'due', next_due, '')
  else
    try('ZREM', P .. 'due', '')
  end
  return closed
end
