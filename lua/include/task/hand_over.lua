--[[
  Hand-over: tasks go straight into the in-process sets of idle workers. Each worker is told by a message on its own
  channel. After a hand-over the invariant holds: the queue has no work, or no fresh idle worker with free hands.
]]
--- @include "bytes"
--- @include "idle"
--- @include "token"
--- @include "try"

-- How many tasks of the queue a worker can be handed, its epoch, and how many hands it has for the queue; nil if the
-- worker is not fresh, has no free hands, or has a damaged key.
local function free_hands(P, queue, worker)
  local left = redis.call('PTTL', P .. 'alive:' .. worker)
  if left <= 0 then
    return nil
  end
  local w = redis.pcall('HMGET', P .. 'worker:' .. worker, 'epoch', 'ttl', 'hands', 'held', 'q:' .. queue)
  --- @inline "free_hands"
  if free > 0 and limit > 0 then
    local mine = redis.pcall('HLEN', P .. 'processing:' .. worker .. ':' .. queue)
    free = type(mine) == 'number' and math.min(free, limit - mine) or 0
    hands = math.min(hands, limit)
  end
  return free > 0 and free or nil, w[1], hands
end

-- Which workers get how many of n tasks: {worker, epoch, free, hands, count} each, at most n together; none if nobody
-- is idle. Each task goes to the worker with the largest part of its hands free, after what it gets here, and among
-- equals to the one that waits longest. A stale entry that is met on the way leaves the idle set, so it costs only
-- once; the worker's next take or heartbeat puts it back. `first` is the first entry with its score, if it is known.
local function share_out(P, queue, n, first)
  local idle, line, sum, n_true = P .. 'idle:' .. queue, {}, 0, 0
  local entries = n == 1 and first or redis.call('ZRANGE', idle, 0, n - 1, 'WITHSCORES')
  -- n whose entries are true are enough: nobody behind them has a larger part free.
  while entries[1] and n_true < n do
    for i = 1, #entries, 2 do
      local worker = entries[i]
      local free, epoch, hands = free_hands(P, queue, worker)
      if not free then
        -- Needs memory and changes nothing. If this is the script's first write, a full Redis refuses the script here.
        -- It would allow a ZREM as the first write, and after it all the rest.
        redis.call('ZADD', idle, 'XX', 'GT', '-inf', worker)
        redis.call('ZREM', idle, worker)
      else
        local was = entries[i + 1]
        --- @inline "idle_entry_now"
        if score and n == 1 then
          redis.call('ZADD', idle, 'XX', score, worker)
        else
          line[#line + 1] = {worker, epoch, free, hands, 1, nil, nil, score}
          sum, n_true = sum + free, n_true + (score and 0 or 1)
        end
      end
    end
    -- Those of the line are the first ones of the set.
    entries = n_true < n and #entries == 2 * n
      and redis.call('ZRANGE', idle, #line, #line + n - 1, 'WITHSCORES') or {}
  end
  if n == 1 or #line == 0 then
    return line
  end
  local FREE, HANDS, COUNT = 3, 4, 5
  if sum <= n or #line == 1 then
    for _, worker in ipairs(line) do
      worker[COUNT] = math.min(worker[FREE], n)
    end
    return line
  end
  -- A heap: the worker that is to get the next task is its first one.
  local heap, PART, PLACE, SCORE = {}, 6, 7, 8
  for place, worker in ipairs(line) do
    worker[COUNT], worker[PART], worker[PLACE] = 0, (worker[HANDS] - worker[FREE]) / worker[HANDS], place
    heap[place] = worker
  end
  local function comes_before(a, b)
    return a[PART] < b[PART] or (a[PART] == b[PART] and a[PLACE] < b[PLACE])
  end
  table.sort(heap, comes_before)
  local size = #heap
  for given = 1, n do
    local worker, at = heap[1], 1
    worker[COUNT], worker[PLACE] = worker[COUNT] + 1, #line + given
    worker[PART] = worker[PART] + 1 / worker[HANDS]
    if worker[COUNT] == worker[FREE] then
      worker, size = heap[size], size - 1
    end
    while 2 * at <= size do
      local child = 2 * at
      if child < size and comes_before(heap[child + 1], heap[child]) then
        child = child + 1
      end
      if not comes_before(heap[child], worker) then
        break
      end
      heap[at], at = heap[child], child
    end
    heap[at] = worker
  end
  for _, worker in ipairs(line) do
    if worker[SCORE] and worker[COUNT] == 0 then
      redis.call('ZADD', idle, 'XX', worker[SCORE], worker[1])
    end
  end
  return line
end

local function hand_task(P, queue, worker, epoch, token, task, is_suspect)
  --- @inline "hand_task"
  return is_handed
end

-- How many tasks one script hands over of those that wait: more would keep Redis from its other clients.
local HANDED_MAX = 1000

-- Hands over up to n tasks and returns how many: the given ones in their order, or, without `tasks`, the first n that
-- wait. The caller has checked that the list, the idle set and the token have the right types, that n tasks are there,
-- and that the queue is not paused. `first` is the first idle entry with its score, if that is known already. `counted`
-- is what the queue's fields `running` and `out` hold, both of them or nil: then one command writes both. The second
-- value: is it less than could be handed over, because that is too much for one script?
local function hand_over(P, queue, n, tasks, first, counted)
  local list = P .. 'queues:' .. queue
  local given, is_cut, most = 0, false, not tasks and HANDED_MAX or n
  local is_more, is_left = n > most, true
  n = math.min(n, most)
  while given < n and is_left and not is_cut do
    local line = share_out(P, queue, n - given, first)
    is_left, first = #line > 0, nil
    for _, one in ipairs(line) do
      local worker, epoch, free, hands, count = unpack(one, 1, 5)
      local number, last
      if count > 0 then
        number, last = draw_tokens(P, count)
      end
      local done = 0
      while done < count do
        local task = tasks and tasks[given + 1] or redis.call('RPOP', list)
        local token = done == count - 1 and last or token_text(number + done)
        is_cut = not tasks and moved_bytes > 0 and moved_bytes + #task > BYTES_MAX
        if is_cut or not hand_task(P, queue, worker, epoch, token, task) then
          if not tasks then
            redis.call('RPUSH', list, task)
          end
          break
        end
        moved_bytes = moved_bytes + #task
        done = done + 1
        given = given + 1
      end
      if done > 0 then
        redis.call('HINCRBY', P .. 'worker:' .. worker, 'held', done)
      end
      if done < count and not is_cut then
        redis.call('ZREM', P .. 'idle:' .. queue, worker)
      elseif done > 0 then
        local us = now_us()
        --- @inline "idle_after"
      end
      if is_cut then
        break
      end
    end
  end
  if given > 0 and counted then
    local running, out = counted[1], counted[2]
    --- @inline "count_handed"
  elseif given > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'running', given)
    try('HINCRBY', P .. 'queue:' .. queue, 'out', given)
  end
  return given, is_cut or (is_more and given == n)
end
