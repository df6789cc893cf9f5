--[[
  Hand-over from a queue in which jobs wait too.
]]
--- @include "hand_over"
--- @include "jobs"

-- Puts one job into a worker's hands. False, with nothing changed, as hand_task(); nil if its record cannot be read:
-- then the job is no longer in the queue.
local function hand_job(P, queue, worker, epoch, token, member)
  local job = Jobs.of_member(P, 'waiting', queue, member)
  if not job then
    return nil
  end
  local set = P .. 'processing:' .. worker .. ':' .. queue
  if type(redis.pcall('HSET', set, 'j' .. token, job.id)) ~= 'number' then
    return false
  end
  local message = 'J' .. epoch .. token .. string.format('%03d', #queue) .. queue
  local readers = redis.pcall('PUBLISH', C .. ':wake:' .. worker, message)
  if type(readers) == 'number' and readers > 0 then
    Jobs.run(P, job, worker, token)
    return true
  end
  redis.call('HDEL', set, 'j' .. token)
  return false
end

local function pop_and_hand_task(P, queue, worker, epoch, token)
  local task = redis.call('RPOP', P .. 'queues:' .. queue)
  local done = hand_task(P, queue, worker, epoch, token, task)
  if not done then
    redis.call('RPUSH', P .. 'queues:' .. queue, task)
  end
  return done
end

-- Hands over up to n tasks and jobs, as hand_over(), and returns how many. The caller has asked Jobs.are_sound().
local function hand_over_mixed(P, queue, n)
  local given, is_left = 0, true
  while given < n and is_left do
    local worker, free, epoch = idle_worker(P, queue)
    if not worker then
      break
    end
    local wanted, done, is_deaf = math.min(free, n - given), 0, false
    local line = Jobs.next_out(P, queue, wanted)
    is_left = #line == wanted
    for _, next_one in ipairs(line) do
      local token, member = unpack(next_one)
      local handed
      if member then
        handed = hand_job(P, queue, worker, epoch, token, member)
      else
        handed = pop_and_hand_task(P, queue, worker, epoch, token)
      end
      if handed == false then
        is_deaf, is_left = true, true
        break
      end
      done = done + (handed and 1 or 0)
    end
    given = given + done
    if done > 0 then
      redis.call('HINCRBY', P .. 'worker:' .. worker, 'held', done)
    end
    if is_deaf or done == free then
      redis.call('ZREM', P .. 'idle:' .. queue, worker)
    end
  end
  if given > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'running', given)
  end
  Jobs.clear_if_none_wait(P, queue)
  return given
end
