--[[
  A job in a holder's hands. A piece of jobs.
]]
--- @within "jobs"

-- Takes up to n tasks and jobs of a queue, in the order in which they come out, for a holder. keep(token, task, job)
-- puts each one into the holder's set; task or job is nil. Returns how many; if fewer than n, nothing is left.
function Jobs.take(P, queue, n, holder, keep)
  local taken = 0
  repeat
    local wanted = n - taken
    local line = Jobs.next_out(P, queue, wanted)
    for _, next_one in ipairs(line) do
      local token, member = unpack(next_one)
      local job = member and Jobs.of_member(P, 'waiting', queue, member)
      if job then
        Jobs.run(P, job, holder, token)
        keep(token, nil, job)
        taken = taken + 1
      elseif not member then
        keep(token, redis.call('RPOP', P .. 'queues:' .. queue))
        taken = taken + 1
      end
    end
  until taken == n or #line < wanted
  Jobs.clear_if_none_wait(P, queue)
  return taken
end

-- The record of a process' job; nil if the record does not say that this process has the job.
function Jobs.read_held(P, id, token)
  local job = Jobs.read(P, id)
  return job and job.state == 'running' and job.token == token and job or nil
end

-- The same for a process that was removed from its holder's set, or is about to be. If the record cannot be read, the
-- job goes onto the failed list.
function Jobs.read_or_fail(P, queue, id, token, worker)
  local job = Jobs.read_held(P, id, token)
  if not job and not Jobs.read(P, id) then
    fail_broken(P, queue, id, token, worker)
  end
  return job
end

-- Have the keys of a running job's holder the right types?
function Jobs.can_take_away(P, job)
  local worker = job.worker
  return job.state ~= 'running' or not worker or (try('HLEN', P .. 'processing:' .. worker .. ':' .. job.queue)
    and try('HLEN', P .. 'notes:' .. worker) and try('ZCARD', P .. 'leases:' .. job.queue) and can_mark(P, worker))
end

-- Takes a running job out of its holder's hands, and tells the holder.
function Jobs.take_away(P, job)
  local worker, token, queue = job.worker or '', job.token or '', job.queue
  if job.state ~= 'running' then
    return
  end
  if redis.call('HDEL', P .. 'processing:' .. worker .. ':' .. queue, 'j' .. token) == 0 then
    return
  end
  unmark(P, worker, token)
  redis.call('ZREM', P .. 'leases:' .. queue, 'j' .. token)
  try('HINCRBY', P .. 'queue:' .. queue, 'running', -1)
  local epoch = worker ~= LEASE and set_flag(P, worker, FLAG_ENDED)
  if epoch then
    try('HINCRBY', P .. 'worker:' .. worker, 'held', -1)
    tell_worker(worker, epoch, 'R', '')
  end
  touched_by_jobs[queue] = true -- a place is free: the queue may have a limit
end
