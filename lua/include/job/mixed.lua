--[[
  Hand-over from a queue in which jobs wait too, or to which something came back.
]]
--- @include "hand_over"
--- @include "jobs"
--- @include "returned"

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
  local readers = redis.pcall('SPUBLISH', C .. ':wake:' .. worker, message)
  if type(readers) == 'number' and readers > 0 then
    Jobs.run(P, job, worker, token)
    return true
  end
  redis.call('HDEL', set, 'j' .. token)
  return false
end

-- The same for the next task; nil if there is none. The second value: is it too much for this script? The third one: 1
-- if the task came out of the list, else 0.
local function hand_next_task(P, queue, worker, epoch, token, has_returned)
  local item, is_cut = next_task(P, queue, has_returned)
  if not item then
    return nil, is_cut, 0
  end
  local done = hand_task(P, queue, worker, epoch, token, item.task, item.suspect)
  if not item.member and not done then
    redis.call('RPUSH', P .. 'queues:' .. queue, item.task)
  elseif item.member and done then
    leave_returned(P, worker, queue, item, token)
  end
  return done, false, done and not item.member and 1 or 0
end

-- How many tasks and jobs one script hands over in this way.
local MIXED_MAX = 200

-- Hands over up to n tasks and jobs, as hand_over(). The caller has asked Jobs.are_sound() and can_return().
local function hand_over_mixed(P, queue, n, has_returned)
  local most, given, out, is_left, is_cut = math.min(n, MIXED_MAX), 0, 0, true, false
  while given < most and is_left and not is_cut do
    local worker, free, epoch = idle_worker(P, queue)
    if not worker then
      break
    end
    local wanted, done, is_deaf = math.min(free, most - given), 0, false
    local line = Jobs.next_out(P, queue, wanted, has_returned)
    is_left = #line == wanted
    for _, next_one in ipairs(line) do
      local token, member = unpack(next_one)
      local handed
      if member then
        handed = hand_job(P, queue, worker, epoch, token, member)
      else
        local from_list
        handed, is_cut, from_list = hand_next_task(P, queue, worker, epoch, token, has_returned)
        out = out + from_list
      end
      if is_cut then
        break
      elseif handed == false then
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
  if out > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'out', out)
  end
  Jobs.clear_if_none_wait(P, queue)
  if has_returned then
    clear_if_none_returned(P, queue)
  end
  return given, is_cut or (given == most and n > most)
end
