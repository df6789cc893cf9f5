--[[
  Putting back: what comes back to a queue comes out before all that waits there. Cancelled processes are dropped on the
  way. Jobs go to their place in the queue, some in each script.
]]
--- @include "token"
--- @include "marks"
--- @include "jobs"
--- @include "fields"
--- @include "returned"
--- @include "suspects"
--- @include "set_due"

-- Drops a marked process, which is still in its set.
local function drop_process(P, worker, queue, set, field, kind)
  local id = is_job_field(field) and redis.call('HGET', set, field)
  redis.call('HDEL', set, field)
  acquit(P, queue, token_of(field))
  if id then
    local job = Jobs.read_or_fail(P, queue, id, token_of(field), worker, kind)
    if job then
      Jobs.cancel(P, job, worker, kind)
    end
  elseif kind == CANCELLED then
    count_cancelled(P, queue, 1)
  end
end

-- Drops the marked processes of a set, and removes marks and notes. Returns the fields of the others.
local function drop_marked(P, worker, queue, set, fields)
  if not has_marks(P, worker) then
    return fields
  end
  local kept = {}
  for _, field in ipairs(fields) do
    local kind = unmark(P, worker, token_of(field))
    if kind then
      drop_process(P, worker, queue, set, field, kind)
    else
      kept[#kept + 1] = field
    end
  end
  return kept
end

-- A job goes to its place. `why`: what made it a suspect now; nil: it is one if its record says so.
local function put_back_job(P, queue, token, id, why)
  local job = Jobs.read_or_fail(P, queue, id, token, '')
  if job then
    if why then
      Jobs.set(job, 'suspect', '1')
      Jobs.publish_event(P, job, now_ms(), 'stalled', why, Jobs.name_of(P, job))
    end
    Jobs.give_back(P, job, 'given-back')
  end
end

-- One script brings at most `most` jobs to their places. `n`: by this script, or other work that cost as much. Where a
-- home has a wrong type, somebody looks again after a pause.
local Settled = {most = 200, n = 0, pause_ms = 1000}

-- When somebody is to look at the jobs that came back and are not at their places, ms; math.huge: there are none.
local function when_to_settle(P, queue)
  if select(2, count_returned(P, queue)) > 0 then
    return now_ms()
  end
  return Passed.jobs[queue] and now_ms() + Settled.pause_ms or math.huge
end

-- One job that came back. Nothing is done where its home has a wrong type.
function Settled.one(P, queue, member)
  local field, home = parse_returned(member)
  local id = field and try('HGET', home_key(P, home, queue), field)
  if field and id == nil then
    return Passed.add(Passed.jobs, queue)
  end
  remove_returned(P, queue, member, field or '', home or NO_HOME)
  if id then
    local is_suspect = redis.call('HDEL', P .. 'suspects:' .. queue, token_of(field)) == 1
    put_back_job(P, queue, token_of(field), id, is_suspect and DIED or nil)
  end
end

-- Brings jobs that came back to their places, the first ones taken first. If some are left, they are due at once.
local function settle(P, queue)
  local key, passed = P .. 'returned:' .. queue, Passed.jobs[queue] or 0
  local room = passed < Passed.most and math.max(0, math.floor(Settled.most - Settled.n)) or 0
  local members = room > 0 and redis.call('ZREVRANGEBYSCORE', key, '(0', '-inf', 'LIMIT', passed, room) or {}
  Settled.n = Settled.n + #members
  for _, member in ipairs(members) do
    Settled.one(P, queue, member)
  end
  if #members > 0 then
    clear_if_none_returned(P, queue)
  end
  local at_ms = when_to_settle(P, queue)
  if at_ms < math.huge then
    note_due(P, queue, at_ms)
  end
end
