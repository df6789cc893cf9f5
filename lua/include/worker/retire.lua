--[[
  Retire: end one life of a worker. Its epoch ends first, so every later call of that life gets E_GONE. Then all that it
  holds goes back to the front of its queues, in the order in which it was taken, and is handed to idle workers.
]]
--- @include "available"
--- @include "put_back"
--- @include "heirs"

-- The queues that the worker has served in this life.
local function queues_of(record)
  local queues = {}
  for i = 1, #record, 2 do
    if string.sub(record[i], 1, 2) == 'q:' then
      queues[#queues + 1] = string.sub(record[i], 3)
    end
  end
  return queues
end

local function type_is(key, wanted)
  local found = redis.call('TYPE', key).ok
  return found == wanted or found == 'none'
end

-- The first key of a wrong type among those that retiring the worker writes, or nil. Call this before anything is
-- written: a WRONGTYPE halfway would lose tasks.
local function damaged_key(P, worker, queues)
  local shared = {registry = 'zset', ttls = 'zset', token = 'string'}
  for name, kind in pairs(shared) do
    if not type_is(P .. name, kind) then
      return P .. name
    end
  end
  for _, name in ipairs({'marks:', 'notes:'}) do
    if not type_is(P .. name .. worker, 'hash') then
      return P .. name .. worker
    end
  end
  for _, queue in ipairs(queues) do
    local wanted = {
      [P .. 'processing:' .. worker .. ':' .. queue] = 'hash',
      [P .. 'queues:' .. queue] = 'list',
      [P .. 'idle:' .. queue] = 'zset',
      [P .. 'queue:' .. queue] = 'hash',
      [P .. 'crashes:' .. queue] = 'hash',
      [P .. 'failed:' .. queue] = 'zset',
      [P .. 'failures:' .. queue] = 'hash',
    }
    for key, kind in pairs(wanted) do
      if not type_is(key, kind) then
        return key
      end
    end
    if redis.call('EXISTS', P .. 'running:' .. queue) == 1 and not Jobs.are_sound(P, queue) then
      return damaged
    end
  end
end

-- Up to here tokens are exact as numbers. A lower limit would meet real tokens: they reach 2 ^ 51 in 2041.
local EXACT = 2 ^ 53

-- The tasks of one set by their tokens, oldest first: a list of numbers, and number -> task.
local function read_set(set)
  local held = redis.call('HGETALL', set)
  local numbers, tasks, odd = {}, {}, 0
  for i = 1, #held, 2 do
    local token, task = token_of(held[i]), held[i + 1]
    local number = #token == TOKEN_LEN and token_number(token)
    if is_job_field(held[i]) then
      task = {job = task}
    end
    if not number or number > EXACT or tasks[number] then
      while tasks[odd] do
        odd = odd + 0.25
      end
      number = odd -- the field is no token: its task must not be lost all the same
    end
    numbers[#numbers + 1] = number
    tasks[number] = task
  end
  table.sort(numbers)
  return numbers, tasks
end

-- Ends a life: from here on every call of its epoch gets E_GONE. Returns the queues that it served; or nil and the name
-- of a damaged key, with nothing changed.
local function end_life(P, worker)
  local key = P .. 'worker:' .. worker
  local record = redis.pcall('HGETALL', key)
  if record.err then
    return nil, key
  end
  local queues = queues_of(record)
  local damaged = damaged_key(P, worker, queues)
  if damaged then
    return nil, damaged
  end
  redis.call('DEL', key, P .. 'alive:' .. worker)
  return queues
end

local DIED = 'the worker that held it died'

-- Puts one set back to the front of its queue. Returns how many tasks and jobs went back, and how many the set held.
-- With `crashed_at`, ms, a crash is counted for each.
local function give_back_set(P, worker, queue, crashed_at)
  local set = P .. 'processing:' .. worker .. ':' .. queue
  local numbers, tasks = read_set(set)
  local held = #numbers
  numbers = drop_marked(P, worker, queue, numbers, tasks)
  if crashed_at then
    numbers = stop_poison(P, worker, queue, numbers, tasks, crashed_at, DIED)
  end
  push_front(P, queue, numbers, tasks)
  redis.call('DEL', set) -- last: after an error a task is there twice rather than lost
  if held > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'running', -held)
  end
  return #numbers, held
end

-- At most this many workers are tried as the timer's next keeper.
local HEIRS_MAX = 10

-- Retires a worker. Returns the number of tasks given back, or nil and the name of the damaged key that prevents it.
-- With `crashed_at`, ms, the worker died holding its tasks, and a crash is counted for each.
local function retire(P, worker, crashed_at)
  local queues, damaged = end_life(P, worker)
  if not queues then
    return nil, damaged
  end
  redis.call('ZREM', P .. 'registry', worker)
  redis.call('ZREM', P .. 'ttls', worker)
  local given_back = 0
  for _, queue in ipairs(queues) do
    redis.call('ZREM', P .. 'idle:' .. queue, worker)
  end
  for _, queue in ipairs(queues) do
    given_back = given_back + give_back_set(P, worker, queue, crashed_at)
  end
  redis.call('DEL', P .. 'marks:' .. worker, P .. 'notes:' .. worker)
  if try('GET', P .. 'timer') == worker then -- if nobody takes it, the next heartbeat of any worker does
    redis.call('DEL', P .. 'timer')
    hand_on_timer(P, worker, redis.call('ZREVRANGE', P .. 'registry', 0, HEIRS_MAX - 1))
  end
  for _, queue in ipairs(queues) do -- only now, when nothing can be lost any more
    hand_over_waiting(P, queue)
  end
  hand_over_jobs(P)
  return given_back
end

-- One process goes on under a new token. If a job's record cannot be read, the worker finds out when it fetches the
-- job.
local function resume_one(P, set, task, number, token)
  if type(task) ~= 'table' then
    redis.call('HSET', set, token, task)
    return
  end
  local job = Jobs.read_held(P, task.job, token_text(math.floor(number)))
  if job then
    Jobs.set(job, 'token', token)
    Jobs.save(P, job)
  end
  redis.call('HSET', set, 'j' .. token, task.job)
end

-- Hands a dead worker's processes on to the next life of its id, under new tokens; marks stay with them. Checks and
-- crash counts are those of retire(). Returns how many processes there are, and the queues; or nil and the name of a
-- damaged key.
local function resume(P, worker, crashed_at)
  local queues, damaged = end_life(P, worker)
  if not queues then
    return nil, damaged
  end
  local marks = P .. 'marks:' .. worker
  local kinds = {}
  local marked = redis.call('HGETALL', marks)
  for i = 1, #marked, 2 do
    kinds[token_number(marked[i]) or 0] = marked[i + 1]
  end
  redis.call('DEL', marks, P .. 'notes:' .. worker)
  local held = 0
  for _, queue in ipairs(queues) do
    local set = P .. 'processing:' .. worker .. ':' .. queue
    local numbers, tasks = read_set(set)
    local innocent = {}
    for _, number in ipairs(numbers) do
      innocent[#innocent + 1] = not kinds[number] and number or nil
    end
    local kept = stop_poison(P, worker, queue, innocent, tasks, crashed_at, DIED)
    for _, number in ipairs(numbers) do
      kept[#kept + 1] = kinds[number] and number or nil
    end
    table.sort(kept)
    redis.call('ZREM', P .. 'idle:' .. queue, worker)
    redis.call('DEL', set)
    local first = #kept > 0 and draw_tokens(P, #kept)
    for i, number in ipairs(kept) do
      resume_one(P, set, tasks[number], number, token_text(first + i - 1))
      if kinds[number] then
        redis.call('HSET', marks, token_text(first + i - 1), kinds[number])
      end
    end
    if #kept < #numbers then
      try('HINCRBY', P .. 'queue:' .. queue, 'running', #kept - #numbers)
      touched_by_jobs[queue] = true -- a place is free: the queue may have a limit
    end
    held = held + #kept
  end
  hand_over_jobs(P)
  return held, queues
end
