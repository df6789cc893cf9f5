--[[
  A job in a holder's hands. A piece of jobs.
]]
--- @within "jobs"

-- Takes one of those that next_out() named: {token, member} of a job, {token} of a task. keep() as in Jobs.take().
-- Returns 'taken'; 'gone' if it is no longer there; 'cut' if it is too much for this script; 'stop' before a suspect
-- that must not be taken now. If it was taken: also whether it is a suspect, and whether it came out of the list.
local function take_one(P, queue, next_one, holder, has_returned, may_be_suspect, keep, name)
  local token, member = unpack(next_one)
  local job, item, is_cut = member and Jobs.of_member(P, 'waiting', queue, member) or nil, nil, false
  if job then
    is_cut = not may_move(#(job.data or ''))
  elseif not member then
    item, is_cut = next_task(P, queue, has_returned)
  end
  local held = job and job.key and not is_cut and Jobs.keys.hold_back(P, job)
  if held then
    return held == 'cut' and 'cut' or 'gone'
  end
  local is_suspect = (job and job.suspect == '1') or (item and item.suspect and true) or false
  if is_cut then
    return 'cut'
  elseif is_suspect and not may_be_suspect then
    return 'stop'
  elseif job then
    Jobs.run(P, job, holder, token, name)
    keep(token, nil, job, is_suspect)
  elseif item then
    keep(token, item.task, nil, is_suspect)
    if item.member then
      leave_returned(P, holder, queue, item, token)
    end
  else
    return 'gone'
  end
  return 'taken', is_suspect, item and not item.member
end

-- Takes up to n tasks and jobs of a queue, in the order in which they come out, for a holder. keep(token, task, job,
-- is_suspect) puts each one into the holder's set; task or job is nil. `name`: what the holder is called, if not so.
-- `alone`: a suspect is taken alone, and begins at once; otherwise those that come before it are taken. Returns how
-- many; and whether there may be more, because it was too much for this script. If it is fewer than n otherwise, and no
-- suspect stood in the way, nothing is left.
function Jobs.take(P, queue, n, holder, has_returned, alone, keep, name)
  local taken, out, how = 0, 0, 'taken'
  repeat
    local wanted = n - taken
    local line = Jobs.next_out(P, queue, wanted, has_returned)
    Jobs.gather_moves()
    for _, next_one in ipairs(line) do
      local is_suspect, is_from_list
      how, is_suspect, is_from_list = take_one(P, queue, next_one, holder, has_returned, not alone or taken == 0, keep,
        name)
      taken = taken + (how == 'taken' and 1 or 0)
      out = out + (is_from_list and 1 or 0)
      if alone and is_suspect then
        begin_suspect(P, queue, next_one[1])
        how = 'stop'
      end
      if how == 'cut' or how == 'stop' then
        break
      end
    end
    Jobs.end_moves()
  until how == 'cut' or how == 'stop' or taken == n or #line < wanted
  if out > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'out', out)
  end
  Jobs.clear_if_none_wait(P, queue)
  if has_returned then
    clear_if_none_returned(P, queue)
  end
  return taken, how == 'cut'
end

-- The record of a process' job; nil if the record does not say that this process has the job.
function Jobs.read_held(P, id, token)
  local job = Jobs.read(P, id)
  return job and job.state == 'running' and job.token == token and job or nil
end

-- The same for a process that was removed from its holder's set, or is about to be. If the record cannot be read, the
-- job goes onto the failed list. Not that of a process that is marked, or was (`kind`): then the job went when it was
-- cancelled, and a record of this id is another job's.
function Jobs.read_or_fail(P, queue, id, token, worker, kind)
  local job = Jobs.read_held(P, id, token)
  if not job and not kind and not Jobs.read(P, id) and not try('HGET', P .. 'marks:' .. worker, token) then
    fail_broken(P, queue, id, token, worker)
  end
  return job
end

-- Of a running job that came back and is not at its place yet: its member among what came back.
local function member_at_home(P, job)
  local is_running = job.state == 'running' and #(job.token or '') == TOKEN_LEN
  return is_running and has_type('ZCARD', P .. 'returned:' .. job.queue)
    and returned_member(P, job.queue, 'j' .. job.token)
end

-- Have the keys of a running job's holder, or of its home, the right types?
function Jobs.can_take_away(P, job)
  local worker, member = job.worker, member_at_home(P, job)
  local home = member and select(2, parse_returned(member))
  if home and not (can_return(P, job.queue) and has_type('HLEN', home_key(P, home, job.queue))) then
    return false
  end
  return job.state ~= 'running' or not worker or (try('HLEN', P .. 'processing:' .. worker .. ':' .. job.queue)
    and try('HLEN', P .. 'notes:' .. worker) and try('ZCARD', P .. 'leases:' .. job.queue) and can_mark(P, worker)
    and can_return(P, job.queue))
end

-- If a running job came back and is not at its place yet, it is no longer among what came back, and the caller brings
-- it to a place. The caller has asked can_take_away(). Was it there?
function Jobs.leave_home(P, job)
  local queue, member = job.queue, member_at_home(P, job)
  if not member then
    return false
  end
  local field, home = parse_returned(member)
  remove_returned(P, queue, member, field, home)
  clear_if_none_returned(P, queue)
  if redis.call('HDEL', P .. 'suspects:' .. queue, job.token) == 1 then
    Jobs.set(job, 'suspect', '1')
  end
  return true
end

-- Is a job, that is to be cancelled, in somebody's hands? One that came back is at home no more.
function Jobs.is_in_hands(P, job)
  return job.state == 'running' and job.token and job.worker and not Jobs.leave_home(P, job)
end

-- Takes a running job out of its holder's hands, and tells the holder.
function Jobs.take_away(P, job)
  local worker, token, queue = job.worker or '', job.token or '', job.queue
  if job.state ~= 'running' then
    return
  end
  if Jobs.leave_home(P, job) or redis.call('HDEL', P .. 'processing:' .. worker .. ':' .. queue, 'j' .. token) == 0 then
    return
  end
  unmark(P, worker, token)
  acquit(P, queue, token)
  if redis.call('ZREM', P .. 'leases:' .. queue, 'j' .. token) == 1 then
    --- @inline "forget_holder"
  end
  try('HINCRBY', P .. 'queue:' .. queue, 'running', -1)
  local epoch = worker ~= LEASE and set_flag(P, worker, FLAG_ENDED)
  if epoch then
    try('HINCRBY', P .. 'worker:' .. worker, 'held', -1)
    tell_worker(worker, epoch, 'R', '')
  end
  touched_by_jobs[queue] = true -- a place is free: the queue may have a limit
end
