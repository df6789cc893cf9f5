--[[
  What a job waits for: pairs of jobs, noted on both sides. A piece of jobs.
]]
--- @within "jobs"

-- Would a job have to wait for this one? Returns its state too; false if there is no such job.
function Jobs.is_open(P, id)
  local found = try('HMGET', P .. 'job:' .. id, 'state', 'place')
  local state = found and found[1]
  if state == 'depends' and Jobs.is_doomed(P, id, found[2]) then
    return false, false
  end
  return state and state ~= 'complete', state
end

-- Have those keys of the jobs that one is to wait for the right types?
function Jobs.can_wait_for(P, after)
  for _, on in ipairs(after) do
    if not has_type('ZCARD', P .. 'dependents:' .. on) then
      return false
    end
  end
  return true
end

-- The same, and for a job's own keys besides its record.
function Jobs.can_depend(P, id, after)
  return have_types({'SCARD', P .. 'dependencies:' .. id, 'ZCARD', P .. 'dependents:' .. id,
    'LLEN', P .. 'history:' .. id, 'ZCARD', P .. 'freed:' .. 'd' .. id, 'ZCARD', P .. 'freed:' .. 'g' .. id})
    and Jobs.can_wait_for(P, after)
end

-- The job has its place by now: those that wait for one job are let go in the order of their places.
function Jobs.add_dependency(P, job, on)
  try('SADD', P .. 'dependencies:' .. job.id, on)
  try('ZADD', P .. 'dependents:' .. on, token_number(job.place), job.id)
end

-- Returns how many dependencies the job has left.
function Jobs.remove_dependency(P, id, on)
  try('SREM', P .. 'dependencies:' .. id, on)
  try('ZREM', P .. 'dependents:' .. on, id)
  return try('SCARD', P .. 'dependencies:' .. id) or 0
end

function Jobs.remove_dependencies(P, id)
  for _, on in ipairs(try('SMEMBERS', P .. 'dependencies:' .. id) or {}) do
    Jobs.remove_dependency(P, id, on)
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
  return not (was_absent(P .. 'freed:' .. 'd' .. id) and was_absent(P .. 'freed:' .. 'g' .. id))
end
