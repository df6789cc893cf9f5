--[[
  What a job waits for: pairs of jobs, noted on both sides. Only a completion releases a job. A piece of jobs.
]]
--- @within "jobs"

-- Would a job have to wait for this one? Returns its state too.
function Jobs.is_open(P, id)
  local state = try('HGET', P .. 'job:' .. id, 'state')
  return state and state ~= 'complete', state
end

-- Have the keys of a job besides its record the right types, and those of the jobs that it is to wait for?
function Jobs.can_depend(P, id, after)
  local is_sound = have_types({'SCARD', P .. 'dependencies:' .. id, 'ZCARD', P .. 'dependents:' .. id,
    'LLEN', P .. 'history:' .. id})
  for _, on in ipairs(after) do
    is_sound = is_sound and has_type('ZCARD', P .. 'dependents:' .. on)
  end
  return is_sound
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
  local job = Jobs.read(P, id)
  if not job or job.state ~= 'depends' then
    return false
  end
  if Jobs.are_sound(P, job.queue) then
    return job
  end
end

-- A job is complete: the jobs that waited for nothing else are ready.
local function release_dependents(P, id)
  for _, dependent in ipairs(try('ZRANGE', P .. 'dependents:' .. id, 0, -1) or {}) do
    local job = read_depending(P, dependent)
    if job ~= nil and Jobs.remove_dependency(P, dependent, id) == 0 and job then
      Jobs.ready(P, job)
    end
  end
end
