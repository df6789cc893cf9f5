--[[
  Ends: what becomes of processes. Each group of ends is a kind, a queue and the kind's own arguments:
    "finish" queue k token*k       done
    "result" queue token bytes     done, with a result for those who listen
    "back" queue k token*k         back to the front, in the order in which they were taken
    "retry" queue token delay_ms   back to the end, after a delay
    "fail" queue token group message   onto the failed list
]]
--- @include "token"
--- @include "due"
--- @include "try"
--- @include "failed"
--- @include "crashes"
--- @include "marks"
--- @include "announce"
--- @include "tally"

-- How many arguments follow the queue in the group at args[at].
local ARGUMENTS = {result = 2, retry = 2, fail = 3}
local function group_len(args, at)
  return ARGUMENTS[args[at]] or 1 + tonumber(args[at + 2])
end

-- May a queue's ends be carried out? Not where a key that they write has a wrong type: a WRONGTYPE after the first
-- write would lose a task. A plain finish writes the set alone, and finds out by itself.
local function is_sound(P, e, kind, queue)
  if e.one_by_one and not (try('HLEN', P .. 'marks:' .. e.worker) and try('HLEN', P .. 'notes:' .. e.worker)) then
    return false
  end
  return kind == 'finish' or kind == 'result' or try('HLEN', e.sets .. queue) and try('LLEN', P .. 'queues:' .. queue)
    and try('ZCARD', P .. 'delayed:' .. queue) and try('HLEN', P .. 'queue:' .. queue) and can_fail(P, queue)
end

-- Does somebody listen to the queue's ends?
local function is_listened(P, e, queue)
  if e.heard[queue] == nil then
    local settings = try('HMGET', P .. 'queue:' .. queue, 'listen', 'broadcast')
    e.heard[queue] = settings and is_heard(settings[1], settings[2]) or false
  end
  return e.heard[queue]
end

-- Removes one process. Returns its task and its mark, if it has one; nil, noted as E_LOST, if it is not the worker's.
local function remove(P, e, queue, token)
  local set = e.sets .. queue
  local task = redis.call('HGET', set, token)
  if not task then
    note(e, queue, 1, 0, E_LOST)
    return nil
  end
  redis.call('HDEL', set, token)
  note(e, queue, 1, 1, 0)
  return task, e.one_by_one and unmark(P, e.worker, token)
end

-- The same for an end that would bring the task back or keep it: nil for one that was cancelled, which is dropped.
local function remove_unmarked(P, e, queue, token)
  local task, kind = remove(P, e, queue, token)
  if kind == CANCELLED then
    count_cancelled(P, queue, 1)
  end
  return not kind and task or nil
end

-- For those who listen: "<length of process id>:<of task>:<of result, - for none>:", then these.
local function say_done(P, e, queue, token, task, result)
  local id = e.worker .. ':' .. token .. ':' .. queue
  e.done[#e.done + 1] = queue
  e.done[#e.done + 1] = #id .. ':' .. #task .. ':' .. (result and #result or '-') .. ':' .. id .. task .. (result or '')
end

local function finish_one(P, e, queue, token, forget, result)
  local task = remove(P, e, queue, token)
  if task and forget then
    forget_crashes(P, queue, task)
  end
  if task and is_listened(P, e, queue) then
    say_done(P, e, queue, token, task, result)
  end
end

-- Of the queue `args[at + 1]`: the tokens args[first...], n of them, or one with its result behind it.
local function finish(P, e, queue, args, first, n, result)
  local crashes = try('HLEN', P .. 'crashes:' .. queue)
  local forget = crashes and crashes > 0
  if crashes == 0 then
    try('HDEL', P .. 'queue:' .. queue, 'crashes')
  end
  if (forget or result or e.one_by_one or is_listened(P, e, queue)) and try('HLEN', e.sets .. queue) then
    redis.call('HDEL', e.sets .. queue, '-') -- a write also if none is there: a full Redis allows what follows
    for i = first, first + n - 1 do
      finish_one(P, e, queue, args[i], forget, result)
    end
    return
  end
  finish_together(e, e.sets .. queue, queue, args, first, n)
end

local function give_back(P, e, queue, args, first, n)
  local numbers, tasks = {}, {}
  for i = first, first + n - 1 do
    local task = remove_unmarked(P, e, queue, args[i])
    if task then
      local number = token_number(args[i])
      numbers[#numbers + 1] = number
      tasks[number] = task
    end
  end
  table.sort(numbers)
  push_front(P, queue, numbers, tasks)
  e.touched[queue] = true
end

local function retry(P, e, queue, token, at_ms)
  local task = remove_unmarked(P, e, queue, token)
  if task and at_ms > e.now then
    delay_task(P, queue, at_ms, token, task)
    e.due[queue] = math.min(e.due[queue] or at_ms, at_ms)
  elseif task then
    redis.call('LPUSH', P .. 'queues:' .. queue, task)
    e.touched[queue] = true
  end
end

local function fail(P, e, queue, token, group, message)
  local task = remove_unmarked(P, e, queue, token)
  if task then
    add_failed(P, queue, e.now, token, e.worker, group, message, task)
  end
end

local function carry_out(P, e, kind, queue, args, at, len)
  if kind == 'finish' then
    finish(P, e, queue, args, at + 3, len - 1)
  elseif kind == 'result' then
    finish(P, e, queue, args, at + 2, 1, args[at + 3])
  elseif kind == 'back' then
    give_back(P, e, queue, args, at + 3, len - 1)
  elseif kind == 'retry' then
    retry(P, e, queue, args[at + 2], e.now + tonumber(args[at + 3]))
  else
    fail(P, e, queue, args[at + 2], args[at + 3], args[at + 4])
  end
end

-- Carries out the ends in args[first...]; those of a queue with a damaged key are not, and noted as E_REDIS. One by
-- one: each end is told what it came to, and looks for its mark. Returns their tally, and with it touched = {queue ->
-- true where work came back}.
local function carry_out_ends(P, worker, args, first, one_by_one, now)
  local e = new_tally()
  e.worker, e.sets, e.one_by_one, e.now = worker, P .. 'processing:' .. worker .. ':', one_by_one, now
  e.touched, e.heard, e.done = {}, {}, {}
  local at = first
  while at <= #args do
    local kind, queue, len = args[at], args[at + 1], group_len(args, at)
    if is_sound(P, e, kind, queue) then
      carry_out(P, e, kind, queue, args, at, len)
    else
      note(e, queue, ARGUMENTS[kind] and 1 or len - 1, 0, E_REDIS)
    end
    at = at + 2 + len
  end
  for i = 1, #e.done, 2 do
    announce(P, e.done[i], 'done', e.done[i + 1])
  end
  return e
end
