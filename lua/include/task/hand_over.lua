--[[
  Hand-over: tasks go straight into the in-process sets of idle workers. Each worker is told by a message on its own
  channel. After a hand-over the invariant holds: the queue has no work, or no fresh idle worker with free hands.
]]
--- @include "bytes"
--- @include "token"
--- @include "try"

-- How many tasks of the queue a worker can be handed, and its epoch; nil if the worker is not fresh, has no free hands,
-- or has a damaged key.
local function free_hands(P, queue, worker)
  local left = redis.call('PTTL', P .. 'alive:' .. worker)
  if left <= 0 then
    return nil
  end
  local w = redis.pcall('HMGET', P .. 'worker:' .. worker, 'epoch', 'ttl', 'hands', 'held', 'q:' .. queue)
  local ttl, hands, held, limit = tonumber(w[2]), tonumber(w[3]), tonumber(w[4]), tonumber(w[5])
  if not (w[1] and ttl and hands and held and limit) or left * 2 < ttl then
    return nil
  end
  local free = hands - held
  if free > 0 and limit > 0 then
    local mine = redis.pcall('HLEN', P .. 'processing:' .. worker .. ':' .. queue)
    free = type(mine) == 'number' and math.min(free, limit - mine) or 0
  end
  return free > 0 and free or nil, w[1]
end

-- The fresh worker with free hands that became idle last, its free hands and its epoch; nil if there is none. A stale
-- entry that is met on the way leaves the idle set, so it costs only once; the worker's next take or heartbeat puts it
-- back. `worker` is the first to look at, if that is known already.
local function idle_worker(P, queue, worker)
  local idle = P .. 'idle:' .. queue
  while true do
    worker = worker or redis.call('ZREVRANGE', idle, 0, 0)[1]
    if not worker then
      return nil
    end
    local free, epoch = free_hands(P, queue, worker)
    if free then
      return worker, free, epoch
    end
    -- Needs memory and changes nothing. If this is the script's first write, a full Redis refuses the script here. It
    -- would allow a ZREM as the first write, and after it all the rest.
    redis.call('ZADD', idle, 'XX', 'GT', '-inf', worker)
    redis.call('ZREM', idle, worker)
    worker = nil
  end
end

-- Puts one task into a worker's hands. False, with nothing changed, if the message reached nobody, if the caller may
-- not publish, or if the set is damaged. It is safe to undo after the SPUBLISH: nobody has read the message. That of a
-- larger task has its token alone, and the worker fetches the task: Redis copies a message for each reader.
local function hand_task(P, queue, worker, epoch, token, task, is_suspect)
  local set = P .. 'processing:' .. worker .. ':' .. queue
  local stored = redis.pcall('HSET', set, token, task)
  if type(stored) ~= 'number' then
    return false
  end
  local head = epoch .. token .. string.format('%03d', #queue) .. queue
  local message = is_suspect and 'A' .. head or #task > INLINE_MAX and 'F' .. head or 'T' .. head .. task
  local readers = redis.pcall('SPUBLISH', C .. ':wake:' .. worker, message)
  if type(readers) == 'number' and readers > 0 then
    return true
  end
  redis.call('HDEL', set, token)
  return false
end

-- How many tasks one script hands over of those that wait: more would keep Redis from its other clients.
local HANDED_MAX = 1000

-- Hands over up to n tasks and returns how many: the given ones in their order, or, without `tasks`, the first n that
-- wait. The caller has checked that the list, the idle set and the token have the right types, that n tasks are there,
-- and that the queue is not paused. `latest` is the worker that became idle last, if that is known already. `counted`
-- is what the queue's fields `running` and `out` hold, both of them or nil: then one command writes both. The second
-- value: is it less than could be handed over, because that is too much for one script?
local function hand_over(P, queue, n, tasks, latest, counted)
  local list = P .. 'queues:' .. queue
  local given, is_cut, most = 0, false, not tasks and HANDED_MAX or n
  local is_more = n > most
  n = math.min(n, most)
  while given < n do
    local worker, free, epoch = idle_worker(P, queue, latest)
    latest = nil
    if not worker then
      break
    end
    local count = math.min(free, n - given)
    local first, last = draw_tokens(P, count)
    local done = 0
    while done < count do
      local task = tasks and tasks[given + 1] or redis.call('RPOP', list)
      local token = done == count - 1 and last or token_text(first + done)
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
    if is_cut then
      break
    elseif done == free or done < count then
      redis.call('ZREM', P .. 'idle:' .. queue, worker)
    end
  end
  if given > 0 and counted then
    redis.call('HSET', P .. 'queue:' .. queue, 'running', string.format('%d', counted[1] + given),
      'out', string.format('%d', counted[2] + given)) -- as text: Redis writes a number out more slowly
  elseif given > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'running', given)
    try('HINCRBY', P .. 'queue:' .. queue, 'out', given)
  end
  return given, is_cut or (is_more and given == n)
end
