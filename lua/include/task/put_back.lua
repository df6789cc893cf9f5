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

-- One script brings at most this many jobs to their places.
local SETTLED_MAX = 200
local settled = 0 -- by this script, or other work that cost as much

-- Brings jobs that came back to their places, the first ones taken first. If some are left, they are due at once.
local function settle(P, queue)
  local key, suspects = P .. 'returned:' .. queue, P .. 'suspects:' .. queue
  local room = math.max(0, math.floor(SETTLED_MAX - settled))
  local members = room > 0 and redis.call('ZREVRANGEBYSCORE', key, '(0', '-inf', 'LIMIT', 0, room) or {}
  settled = settled + #members
  for _, member in ipairs(members) do
    local field, home = parse_returned(member)
    local token, id = token_of(field), try('HGET', home_key(P, home, queue), field)
    if id ~= nil then
      remove_returned(P, queue, member, field, home)
    end
    if id then
      local is_suspect = redis.call('HDEL', suspects, token) == 1
      put_back_job(P, queue, token, id, is_suspect and DIED or nil)
    end
  end
  if #members > 0 then
    clear_if_none_returned(P, queue)
  end
  if select(2, count_returned(P, queue)) > 0 then
    note_due(P, queue, now_ms())
  end
end
