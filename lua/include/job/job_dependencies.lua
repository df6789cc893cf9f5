--[[
  What a job waits for: pairs of jobs, noted on both sides. Its P:dependencies has a name for each:
    <id>      it waits until that job is complete, and stands in its P:dependents
    <id>\ne   until it has ended, however that is; it stands in its P:followers, as "<its own id>\ne"
    <id>\nf   until it has failed, in the same way
  No id holds a line feed. A piece of jobs.
]]
--- @within "jobs"

local LINE_FEED = 10
local KINDS = {'', '\ne', '\nf'}

-- The id and the kind of such a name; "\n", or nothing, comes before the kind.
local function parse_name(name)
  if string.byte(name, -2) == LINE_FEED then
    return string.sub(name, 1, -3), string.sub(name, -2)
  end
  return name, ''
end
Jobs.parse_name = parse_name

-- Where the job of this id stands on the other side: the key, and the member.
local function other_side(P, id, name)
  local on, kind = parse_name(name)
  return P .. (kind == '' and 'dependents:' or 'followers:') .. on, id .. kind
end
Jobs.other_side = other_side

-- Would a job have to wait for this one? Returns its state too; false if there is no such job. `kind`: what it would
-- wait for; nil: until it is complete.
function Jobs.is_open(P, id, kind)
  local found = try('HMGET', P .. 'job:' .. id, 'state', 'place')
  local state = found and found[1]
  if state == 'depends' and Jobs.is_doomed(P, id, found[2]) then
    return false, false
  end
  return state and state ~= 'complete' and (state ~= 'failed' or (kind or '') == ''), state
end

-- Have those keys of the jobs that one is to wait for the right types?
function Jobs.can_wait_for(P, after)
  for _, name in ipairs(after) do
    if not has_type('ZCARD', (other_side(P, '', name))) then
      return false
    end
  end
  return true
end

-- The same, and for a job's own keys besides its record.
function Jobs.can_depend(P, id, after)
  return have_types({'SCARD', P .. 'dependencies:' .. id, 'ZCARD', P .. 'dependents:' .. id,
    'ZCARD', P .. 'followers:' .. id, 'LLEN', P .. 'history:' .. id, 'ZCARD', P .. 'freed:' .. 'd' .. id,
    'ZCARD', P .. 'freed:' .. 'g' .. id, 'ZCARD', P .. 'freed:' .. 'e' .. id, 'ZCARD', P .. 'freed:' .. 'f' .. id})
    and Jobs.can_wait_for(P, after)
end

-- The job has its place by now: those that wait for one job are let go in the order of their places.
function Jobs.add_dependency(P, job, name)
  local key, member = other_side(P, job.id, name)
  try('SADD', P .. 'dependencies:' .. job.id, name)
  try('ZADD', key, token_number(job.place), member)
end

-- Returns how many dependencies the job has left.
function Jobs.remove_dependency(P, id, name)
  local key, member = other_side(P, id, name)
  try('SREM', P .. 'dependencies:' .. id, name)
  try('ZREM', key, member)
  return try('SCARD', P .. 'dependencies:' .. id) or 0
end

-- It waits for the job `on` no longer, in no way.
function Jobs.stop_waiting_for(P, id, on)
  for _, kind in ipairs(KINDS) do
    Jobs.remove_dependency(P, id, on .. kind)
  end
end

function Jobs.remove_dependencies(P, id)
  for _, name in ipairs(try('SMEMBERS', P .. 'dependencies:' .. id) or {}) do
    Jobs.remove_dependency(P, id, name)
  end
end

-- The record of a job that depends; false if it does not depend; nil if a damaged key forbids to move it: then it stays
-- as it is, for a check to find.
local function read_depending(P, id)
  local job = Jobs.read_head(P, id)
  if not job or job.state ~= 'depends' then
    return false
  end
  if Jobs.are_sound(P, job.queue) then
    return job
  end
end

-- Has a job of this id ended, and jobs that waited for it are still to be let go? The caller has asked can_depend().
function Jobs.is_ending(P, id)
  return not (was_absent(P .. 'freed:' .. 'd' .. id) and was_absent(P .. 'freed:' .. 'g' .. id)
    and was_absent(P .. 'freed:' .. 'e' .. id) and was_absent(P .. 'freed:' .. 'f' .. id))
end
