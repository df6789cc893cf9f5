--[[
  Ends: what becomes of processes. The ends come in groups, each of which is a kind, a queue, and the kind's own
  arguments:
    "finish" queue k token*k       done. For tasks, and for one process if its owner does not know whether it is a job
    "done" queue token             a job is done
    "result" queue token bytes     done, with a result: a job's record keeps it, and those who listen get it
    "next" queue token has bytes next delay_ms ids   a job is done here, and goes on to the queue `next`: after a delay,
                                   and after the jobs of these ids, with a line feed after each. `has` "1": bytes are
                                   its result. If its queue was deleted, it goes on all the same. If it cannot wait for
                                   one of the jobs (see the include `circle`), it fails, group "dependency"; the
                                   status then says why
    "back" queue k token*k         back to the front, in the order in which they were taken
    "move" queue token reservation   straight to the worker that it is reserved for (script `share`), under a new token;
                                   back to the front if that is not possible any more
    "retry" queue token delay_ms group message   back to the end, after a delay ("": none, or the job's own). A job's
                                   record keeps group and message ("": they stay as they are)
    "fail" queue token group message   onto the failed list
  A job that was cancelled is gone: an end of its process removes that and changes nothing else; one that is to finish
  it has the status E_CANCELLED.
  A job's process has the field "j<token>" in its set, but an end names it by its token like any other. A suspect must
  not end in a "finish": those do not look for suspects.
]]
--- @include "token"
--- @include "due"
--- @include "try"
--- @include "jobs"
--- @include "put_back"
--- @include "suspects"
--- @include "marks"
--- @include "announce"
--- @include "tally"
--- @include "types"
--- @include "mixed"
--- @include "moves"

-- How many arguments follow the queue in the group at args[at]. Kinds that are not listed have k and k tokens.
local ARGUMENTS = {done = 1, result = 2, next = 6, move = 2, retry = 4, fail = 3}
local function group_len(args, at)
  return ARGUMENTS[args[at]] or 1 + tonumber(args[at + 2])
end

-- May a queue's ends be carried out? Not if a key that they write has a wrong type: a WRONGTYPE after the first write
-- would lose a task. A plain finish writes the set alone, and needs no check before. `next_queue`: the queue to which a
-- job goes on, or nil.
local function can_carry_out(P, ends, kind, queue, next_queue)
  if ends.one_by_one and not have_types({'HLEN', P .. 'marks:' .. ends.worker, 'HLEN', P .. 'notes:' .. ends.worker,
      'HLEN', P .. 'suspects:' .. queue}) then
    return false
  end
  if kind == 'finish' and not ends.one_by_one then
    return true
  end
  return have_types({'HLEN', P .. 'suspects:' .. queue, 'ZCARD', P .. 'failed:' .. queue,
      'HLEN', P .. 'failures:' .. queue})
    and ((kind ~= 'back' and kind ~= 'move') or can_return(P, queue))
    and (kind ~= 'move' or (has_type('ZCARD', P .. 'moves:' .. queue) and has_type('ZCARD', P .. 'idle:' .. queue)))
    and (not next_queue or Jobs.are_sound(P, next_queue))
    and has_type('HLEN', ends.sets .. queue) and has_type('LLEN', P .. 'queues:' .. queue)
    and has_type('ZCARD', P .. 'delayed:' .. queue) and has_type('HLEN', P .. 'queue:' .. queue) and can_fail(P, queue)
    and (has_type('ZCARD', P .. 'running:' .. queue) == 0 or Jobs.are_sound(P, queue))
end

-- Does somebody listen to the queue's ends?
local function is_queue_heard(P, ends, queue)
  if ends.heard[queue] == nil then
    local settings = try('HMGET', P .. 'queue:' .. queue, 'listen', 'broadcast')
    ends.heard[queue] = settings and is_heard(settings[1], settings[2]) or false
  end
  return ends.heard[queue]
end

-- Removes one process from its set. Returns its task or the job's record, and its mark if it has one. Returns nil if
-- the process is not the worker's, which is noted as E_LOST, or as E_EXISTS if its own command has ended it; or if the
-- job is gone, as that of a cancelled process is.
local function remove_process(P, ends, queue, token)
  local set = ends.sets .. queue
  local task, id = unpack(redis.call('HMGET', set, token, 'j' .. token))
  if not task and not id then
    local is_own = try('HEXISTS', P .. 'worker:' .. ends.worker, 'e:' .. token) == 1 -- include `own_ends`
    note_ends(ends, queue, 1, 0, is_own and E_EXISTS or E_LOST)
    return nil
  end
  redis.call('HDEL', set, id and 'j' .. token or token)
  note_ends(ends, queue, 1, 1, 0)
  local may_be_marked = ends.one_by_one
    and not (was_absent(P .. 'marks:' .. ends.worker) and was_absent(P .. 'notes:' .. ends.worker))
  local kind = may_be_marked and unmark(P, ends.worker, token)
  return task or Jobs.read_or_fail(P, queue, id, token, ends.worker, kind), kind
end

local function is_job(task)
  return type(task) == 'table'
end

-- A process that has ended is suspected no more.
local function end_suspicion(P, queue, token)
  if not was_absent(P .. 'suspects:' .. queue) then
    acquit(P, queue, token)
  end
end

-- The same as remove_process() for an end that would bring the task back or keep it. A process that is marked is
-- dropped here: nil, and ends.dropped is its mark.
local function remove_unmarked(P, ends, queue, token)
  local task, kind = remove_process(P, ends, queue, token)
  ends.dropped = kind or ends.dropped
  if kind then
    end_suspicion(P, queue, token)
  end
  if kind and is_job(task) then
    Jobs.cancel(P, task, ends.worker, kind)
  elseif kind == CANCELLED and task then
    count_cancelled(P, queue, 1)
  end
  return not kind and task or nil
end

-- Notes the message for those who listen: "<length of process id>:<length of task>:<length of result, - for none>:",
-- then these three, and the name of who held the lease, if it had one.
local function note_done(P, ends, queue, token, task, result)
  local worker = ends.worker
  --- @inline "holder_name"
  local id = worker .. ':' .. token .. ':' .. queue
  ends.done[#ends.done + 1] = queue
  ends.done[#ends.done + 1] = #id .. ':' .. #task .. ':' .. (result and #result or '-') .. ':' .. id .. task .. (result
  or '') .. (name ~= worker and name or '')
end

-- The end that was noted last has another status.
local function restate_end(tally, status)
  tally.failed[#tally.failed + 1] = {tally.n, tally.n, status}
end

-- A process is gone that was to be finished. Its job went when it was cancelled, so nothing is done.
local function note_cancelled(ends, kind)
  ends.dropped = kind
  restate_end(ends, E_CANCELLED)
end

-- A process that left its set is finished: a task, or the record of a job; nil if it was not there, or is gone.
local function finish_removed(P, ends, queue, token, task, result)
  end_suspicion(P, queue, token)
  if is_job(task) then
    Jobs.complete(P, task, ends.worker, result)
    task = task.data or ''
  end
  if task and is_queue_heard(P, ends, queue) then
    note_done(P, ends, queue, token, task, result)
  end
end

local function finish_one(P, ends, queue, token, result)
  local task, kind = remove_process(P, ends, queue, token)
  finish_removed(P, ends, queue, token, task, result)
  if kind and not task then
    note_cancelled(ends, kind)
  end
end

local function ids_of(text)
  local ids = {}
  for id in string.gmatch(text, '[^\n]+') do
    ids[#ids + 1] = id
  end
  return ids
end

-- A job cannot wait for what its handler asked for. A refusal would leave it running in nobody's hands, and without a
-- part of what it was to wait for it would run too soon. So it fails, where people see it, and can be replayed.
local function fail_to_wait(P, ends, job, token, result, obstacle)
  local status, id = unpack(obstacle)
  local why = status == E_INVALID and "it cannot wait for the job '" .. id .. "', which waits for it or never ends"
    or 'too many jobs are tied together by what they wait for: nobody can see whether it would wait for itself'
  Jobs.set(job, 'result', result)
  Jobs.fail(P, job, ends.worker, token, 'dependency', why)
  restate_end(ends, status)
end

-- Made when a job is to wait, which is rare.
local function find_obstacle(P, id, after)
--- @include "circle"
  return obstacle_to_wait(P, id, after)
end

-- Is a process of this set one of a task, also a unique one? Not if the set has a wrong type: nobody knows.
local function is_task(P, set, token)
  local task, id = unpack(try('HMGET', set, token, 'j' .. token) or {})
  return (task or (id and try('HEXISTS', P .. 'job:' .. id, 'unique') == 1)) and true or false
end

-- A job is done here, and goes on to the next queue. For a task, nothing is done, and E_STATE is noted.
local function advance(P, ends, queue, token, result, next_queue, delay_ms, ids)
  if is_task(P, ends.sets .. queue, token) then
    note_ends(ends, queue, 1, 0, E_STATE)
    return
  end
  local job, kind = remove_process(P, ends, queue, token)
  end_suspicion(P, queue, token)
  if job and kind == CANCELLED then
    Jobs.complete(P, job, ends.worker, result)
    return
  elseif kind and not job then
    return note_cancelled(ends, kind)
  end
  local after = job and ids_of(ids)
  local obstacle = job and #after > 0 and find_obstacle(P, job.id, after)
  if obstacle then
    fail_to_wait(P, ends, job, token, result, obstacle)
  elseif job then
    Jobs.advance(P, job, ends.worker, result, next_queue, delay_ms, after)
  end
end

-- Finishes the n tokens args[first...]; or with `is_one` one process, which may be a job's and may have a result.
local function finish(P, ends, queue, args, first, n, result, is_one)
  if (is_one or ends.one_by_one or is_queue_heard(P, ends, queue))
      and have_types({'HLEN', P .. 'suspects:' .. queue}) and has_type('HLEN', ends.sets .. queue) then
    for i = first, first + n - 1 do
      finish_one(P, ends, queue, args[i], result)
    end
    return
  end
  finish_together(ends, ends.sets .. queue, queue, args, first, n)
end

-- The ends at args[at] and after it that say of jobs of this queue that they are done, at most CHUNK: their tokens, the
-- fields of their set, and {token -> result}. Also where the next end is. A token that comes twice ends the run.
local function read_run(args, at, queue)
  local tokens, fields, results, is_there = {}, {}, {}, {}
  while (args[at] == 'done' or args[at] == 'result') and args[at + 1] == queue and #tokens < CHUNK do
    local token = args[at + 2]
    if is_there[token] then
      break
    end
    is_there[token], tokens[#tokens + 1], fields[#fields + 1] = true, token, 'j' .. token
    if args[at] == 'result' then
      results[token] = args[at + 3]
    end
    at = at + 2 + ARGUMENTS[args[at]]
  end
  return tokens, fields, results, at
end

-- Finishes such a run together. If one of them is not there, or is a task, each one is looked at by itself. Returns
-- where the next end is.
local function finish_run(P, ends, queue, args, first)
  local tokens, fields, results, at = read_run(args, first, queue)
  local ids = #tokens > 1 and redis.call('HMGET', ends.sets .. queue, unpack(fields)) or {}
  local is_whole = #tokens > 1
  for i = 1, #ids do
    is_whole = is_whole and ids[i]
  end
  if not is_whole then
    for _, token in ipairs(tokens) do
      finish_one(P, ends, queue, token, results[token])
    end
    return at
  end
  redis.call('HDEL', ends.sets .. queue, unpack(fields))
  Jobs.complete_together(P, queue, ids, function()
    for i, token in ipairs(tokens) do
      note_ends(ends, queue, 1, 1, 0)
      local job = Jobs.read_or_fail(P, queue, ids[i], token, ends.worker)
      finish_removed(P, ends, queue, token, job, results[token])
    end
  end)
  return at
end

local function put_back_one(P, ends, queue, token, task)
  local entry = task and not was_absent(P .. 'suspects:' .. queue)
    and redis.call('HGET', P .. 'suspects:' .. queue, token)
  if is_job(task) then
    acquit(P, queue, token) -- its record says whether it is a suspect
    Jobs.give_back(P, task, 'given-back')
  elseif task then
    if entry then
      unbegin_suspect(P, queue, token, entry)
    end
    return_task(P, ends.worker, queue, token, task)
  end
end

local function give_back_all(P, ends, queue, args, first, n)
  for i = first, first + n - 1 do
    put_back_one(P, ends, queue, args[i], remove_unmarked(P, ends, queue, args[i]))
  end
  ends.touched[queue] = true
end

-- A process that its worker has given up goes to another one. False, with nothing changed, if that worker cannot have
-- it: it is gone or not fresh, has no hand left, or does not hear. A suspect stays what it is only if it goes back. A
-- task that comes back later comes out where it would have here.
local function move_to(P, queue, token, task, reserved)
  local worker, wanted = reserved[5], reserved[4]
  local free, epoch, hands = free_hands(P, queue, worker)
  if not free or epoch ~= wanted or try('HEXISTS', P .. 'suspects:' .. queue, token) ~= 0
      or try('HEXISTS', P .. 'queue:' .. queue, 'paused') ~= 0 then
    return false
  end
  local _, new = draw_tokens(P, 1)
  if is_job(task) then
    if task.suspect == '1' or not hand_found_job(P, queue, worker, epoch, new, task, Jobs.move) then
      return false
    end
  elseif hand_task(P, queue, worker, epoch, new, task) then
    note_first(P, worker, queue, new, read_firsts(P, reserved[3], queue, token)[token] or score_of(token))
    try('HDEL', firsts_key(P, reserved[3], queue), token)
  else
    return false
  end
  redis.call('HINCRBY', P .. 'worker:' .. worker, 'held', 1)
  try('HINCRBY', P .. 'queue:' .. queue, 'running', 1)
  try('HINCRBY', P .. 'queue:' .. queue, 'moved', 1)
  put_behind(P, queue, worker, free, hands, 1)
  return true
end

local function move_process(P, ends, queue, token, reservation)
  local task = remove_unmarked(P, ends, queue, token)
  local reserved = give_up_move(P, queue, reservation)
  if task and not (reserved and reserved[1] == token and move_to(P, queue, token, task, reserved)) then
    put_back_one(P, ends, queue, token, task)
    ends.touched[queue] = true
  end
end

local function retry(P, ends, queue, token, delay_ms, group, message)
  local task = remove_unmarked(P, ends, queue, token)
  end_suspicion(P, queue, token)
  local at_ms = ends.now + (delay_ms or 0)
  if is_job(task) then
    ends.is_exhausted = Jobs.retry(P, task, ends.worker, token, delay_ms, group, message)
  elseif task and at_ms > ends.now then
    delay_task(P, queue, at_ms, token, task)
  elseif task then
    note_length(P, queue, task)
    redis.call('LPUSH', P .. 'queues:' .. queue, task)
    ends.touched[queue] = true
  end
end

local function fail(P, ends, queue, token, group, message)
  local task = remove_unmarked(P, ends, queue, token)
  end_suspicion(P, queue, token)
  if is_job(task) then
    Jobs.fail(P, task, ends.worker, token, group, message)
  elseif task then
    Failed.add(P, queue, ends.now, token, ends.worker, group, message, task)
  end
end

local function carry_out(P, ends, kind, queue, args, at, len)
  local token = args[at + 2]
  if kind == 'finish' then
    finish(P, ends, queue, args, at + 3, len - 1)
  elseif kind == 'done' or kind == 'result' then
    finish(P, ends, queue, args, at + 2, 1, kind == 'result' and args[at + 3] or nil, true)
  elseif kind == 'next' then
    advance(P, ends, queue, token, args[at + 3] == '1' and args[at + 4] or nil, args[at + 5], tonumber(args[at + 6]),
      args[at + 7])
  elseif kind == 'back' then
    give_back_all(P, ends, queue, args, at + 3, len - 1)
  elseif kind == 'move' then
    move_process(P, ends, queue, token, args[at + 3])
  elseif kind == 'retry' then
    retry(P, ends, queue, token, tonumber(args[at + 3]), args[at + 4], args[at + 5])
  else
    fail(P, ends, queue, token, args[at + 3], args[at + 4])
  end
end

-- Carries out the ends in args[first...]. The caller has made a write that needs no memory. An end of a queue with a
-- damaged key is not carried out, and noted as E_REDIS. `one_by_one`: each end gets a status of its own, and looks for
-- its mark. Returns the tally of the ends, which has besides touched = {queue -> true if work came back}; and of the
-- last one: `dropped`, its mark, if its task was dropped; is_exhausted, if its job has failed instead of being retried.
local function carry_out_ends(P, worker, args, first, one_by_one, now)
  local ends = new_tally()
  ends.worker, ends.sets, ends.one_by_one, ends.now = worker, P .. 'processing:' .. worker .. ':', one_by_one, now
  ends.touched, ends.heard, ends.done = {}, {}, {}
  local at = first
  while at <= #args do
    local kind, queue, len = args[at], args[at + 1], group_len(args, at)
    local can = can_carry_out(P, ends, kind, queue, kind == 'next' and args[at + 5] or nil)
    if can and not one_by_one and (kind == 'done' or kind == 'result') then
      at = finish_run(P, ends, queue, args, at)
    else
      if can then
        carry_out(P, ends, kind, queue, args, at, len)
      else
        note_ends(ends, queue, ARGUMENTS[kind] and 1 or len - 1, 0, E_REDIS)
      end
      at = at + 2 + len
    end
  end
  for i = 1, #ends.done, 2 do
    announce(ends.done[i], 'done', ends.done[i + 1])
  end
  return ends
end
