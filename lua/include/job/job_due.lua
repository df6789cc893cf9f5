--[[
  Jobs that become ready by themselves: scheduled ones, and those that a recurring job makes (job_recur). A piece of
  jobs.
]]
--- @within "jobs"

local JOB_ID_MAX = 200

-- Is the id free for a job that muster makes? A complete job makes room. One that has failed does not: it may be
-- replayed, and nobody has said that it is to go.
local function can_be_made(P, id)
  local old, is_free = Jobs.read(P, id)
  if #id > JOB_ID_MAX or not (old or is_free)
      or (old and (old.state ~= 'complete' or not Jobs.are_sound(P, old.queue)))
      or redis.call('EXISTS', P .. 'freed:' .. 'd' .. id, P .. 'freed:' .. 'g' .. id, P .. 'freed:' .. 'e' .. id,
        P .. 'freed:' .. 'f' .. id) > 0 then
    return false
  end
  if old then
    Jobs.make_room(P, old)
  end
  return true
end

-- An id that is its maker's alone, by the maker's place.
function Jobs.own_id(usual, place)
  return usual .. '-' .. place
end

-- The id of a job that a job or a batch of this place makes: the usual one; if that is somebody's, the maker's own. Nil
-- if neither is free.
function Jobs.id_to_make(P, usual, place)
  local own = Jobs.own_id(usual, place)
  return can_be_made(P, usual) and usual or can_be_made(P, own) and own or nil
end

-- Makes a unique task that waits, unless its equal is alive: then nil.
function Jobs.make_unique(P, queue, task)
  local id = Jobs.unique_id(queue, task)
  if can_be_made(P, id) then
    Jobs.make(P, id, queue, {data = task, unique = '1'}, {}, 0, {})
    return true
  end
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
      n = Recur.go(P, job, math.max(1, math.min(READY_MAX, most - moved, room)))
    elseif job then
      Jobs.wait(P, job, 'ready')
    end
    moved, bytes = moved + math.max(1, n), bytes + math.max(1, n) * size
  end
  return moved, bytes
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
  job.has_recurred = job.state == 'recurring'
  leave(P, job)
  job.state = nil
end
