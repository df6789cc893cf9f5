--[[
  Ends: what becomes of the processes that a worker's handlers have ended. Each group of ends is a kind, a queue and the
  kind's own arguments; turn.lua's header has their forms.
]]
--- @include "token"
--- @include "due"
--- @include "try"
--- @include "failed"
--- @include "crashes"

-- At most so many values in one unpack(), far below Lua's limit of about 8 000.
local CHUNK = 1000

-- How many arguments follow the queue in the group at args[at].
local function group_len(args, at)
  local kind = args[at]
  if kind == 'retry' then
    return 2
  end
  return kind == 'fail' and 3 or 1 + tonumber(args[at + 2])
end

-- May a queue's ends be carried out? Not where a key that they write has a wrong type: a WRONGTYPE after the first write
-- would lose a task. A finish writes the set alone, and finds out by itself.
local function is_sound(P, e, kind, queue)
  return kind == 'finish' or try('HLEN', e.sets .. queue) and try('LLEN', P .. 'queues:' .. queue) and try('ZCARD', P .. 'delayed:' .. queue)
    and try('ZCARD', P .. 'failed:' .. queue) and try('HLEN', P .. 'queue:' .. queue)
end

-- Notes what n ends came to: a status for each, and how many processes the queue has lost.
local function note(e, queue, n, counted, status)
  for _ = 1, n do
    e.statuses[#e.statuses + 1] = status
  end
  if status ~= 0 then
    e.all_counted = false
  end
  e.ended[queue] = (e.ended[queue] or 0) + counted
end

-- Removes one process and returns its task; nil, noted as E_LOST, if it is not the worker's.
local function remove(e, queue, token)
  local set = e.sets .. queue
  local task = redis.call('HGET', set, token)
  if not task then
    note(e, queue, 1, 0, E_LOST)
    return nil
  end
  redis.call('HDEL', set, token)
  note(e, queue, 1, 1, 0)
  return task
end

local function finish(P, e, queue, args, first, n)
  local crashes = try('HLEN', P .. 'crashes:' .. queue)
  local forget = crashes and crashes > 0
  if (forget or e.one_by_one) and try('HLEN', e.sets .. queue) then
    for i = first, first + n - 1 do
      local task = remove(e, queue, args[i])
      if task and forget then
        forget_crashes(P, queue, task)
      end
    end
    return
  end
  for from = first, first + n - 1, CHUNK do
    local to = math.min(from + CHUNK, first + n) - 1
    local n_ends = to - from + 1
    local counted = try('HDEL', e.sets .. queue, unpack(args, from, to))
    -- If some did not count, which ones cannot be told any more: then none is claimed.
    note(e, queue, n_ends, counted or 0, counted == n_ends and 0 or counted and E_LOST or E_REDIS)
  end
end

local function give_back(P, e, queue, args, first, n)
  local numbers, tasks = {}, {}
  for i = first, first + n - 1 do
    local task = remove(e, queue, args[i])
    if task then
      local number = token_number(args[i])
      numbers[#numbers + 1] = number
      tasks[number] = task
    end
  end
  table.sort(numbers)
  for i = #numbers, 1, -1 do -- newest first, so that the oldest is the next out
    redis.call('RPUSH', P .. 'queues:' .. queue, tasks[numbers[i]])
  end
  e.touched[queue] = true
end

local function retry(P, e, queue, token, at_ms)
  local task = remove(e, queue, token)
  if task and at_ms > e.now then
    delay_task(P, queue, at_ms, token, task)
  elseif task then
    redis.call('LPUSH', P .. 'queues:' .. queue, task)
    e.touched[queue] = true
  end
end

local function fail(P, e, queue, token, group, message)
  local task = remove(e, queue, token)
  if task then
    add_failed(P, queue, e.now, token, e.worker, group, message, task)
  end
end

-- Carries out the ends in args[first...]; those of a queue with a damaged key are not, and noted as E_REDIS.
-- Returns {statuses, all_counted, ended = {queue -> n}, touched = {queue -> true where work came back}}.
local function carry_out_ends(P, worker, args, first, one_by_one, now)
  local e = {worker = worker, sets = P .. 'processing:' .. worker .. ':', one_by_one = one_by_one, now = now,
    statuses = {}, all_counted = true, ended = {}, touched = {}}
  local at = first
  while at <= #args do
    local kind, queue, len = args[at], args[at + 1], group_len(args, at)
    if not is_sound(P, e, kind, queue) then
      note(e, queue, (kind == 'finish' or kind == 'back') and len - 1 or 1, 0, E_REDIS)
    elseif kind == 'finish' then
      finish(P, e, queue, args, at + 3, len - 1)
    elseif kind == 'back' then
      give_back(P, e, queue, args, at + 3, len - 1)
    elseif kind == 'retry' then
      retry(P, e, queue, args[at + 2], now + tonumber(args[at + 3]))
    else
      fail(P, e, queue, args[at + 2], args[at + 3], args[at + 4])
    end
    at = at + 2 + len
  end
  return e
end
