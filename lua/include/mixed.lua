--[[
  Hand-over from a queue in which jobs wait, too.
]]
--- @include "hand_over"
--- @include "jobs"

-- Puts one job into a worker's hands. False, with nothing changed, as hand(); nil if its record cannot be read: then it
-- is out of the way.
local function hand_job(P, queue, worker, epoch, token, member)
  local job = Jobs.of(P, 'waiting', queue, member)
  if not job then
    return nil
  end
  local set = P .. 'processing:' .. worker .. ':' .. queue
  if type(redis.pcall('HSET', set, 'j' .. token, job.id)) ~= 'number' then
    return false
  end
  local message = 'J' .. epoch .. token .. string.format('%03d', #queue) .. queue
  local readers = redis.pcall('PUBLISH', P .. 'wake:' .. worker, message)
  if type(readers) == 'number' and readers > 0 then
    Jobs.run(P, job, worker, token)
    return true
  end
  redis.call('HDEL', set, 'j' .. token)
  return false
end

local function hand_task(P, queue, worker, epoch, token)
  local task = redis.call('RPOP', P .. 'queues:' .. queue)
  local done = hand(P, queue, worker, epoch, token, task)
  if not done then
    redis.call('RPUSH', P .. 'queues:' .. queue, task)
  end
  return done
end

-- Hands over up to n tasks and jobs, as hand_over(), and returns how many. Jobs.are_sound() was asked.
local function hand_over_mixed(P, queue, n)
  local given = 0
  while given < n do
    local worker, free, epoch = idle_worker(P, queue)
    if not worker then
      break
    end
    local number, token = draw_tokens(P, 1)
    local what, member = Jobs.next(P, queue, number)
    if not what then
      break
    end
    local done
    if what == 'job' then
      done = hand_job(P, queue, worker, epoch, token, member)
    else
      done = hand_task(P, queue, worker, epoch, token)
    end
    if done then
      given = given + 1
      redis.call('HINCRBY', P .. 'worker:' .. worker, 'held', 1)
    end
    if done == false or (done and free == 1) then
      redis.call('ZREM', P .. 'idle:' .. queue, worker)
    end
  end
  if given > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'running', given)
  end
  Jobs.settle(P, queue)
  return given
end
