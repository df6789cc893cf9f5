--[[
  Hand-over from a queue in which jobs wait too, or to which something came back.
]]
--- @include "hand_over"
--- @include "jobs"
--- @include "returned"

-- Puts one job into a worker's hands; `enter` writes that into its record. False, with nothing changed, as hand_task().
local function hand_found_job(P, queue, worker, epoch, token, job, enter)
  local set = P .. 'processing:' .. worker .. ':' .. queue
  if type(redis.pcall('HSET', set, 'j' .. token, job.id)) ~= 'number' then
    return false
  end
  local message = 'J' .. epoch .. token .. string.format('%03d', #queue) .. queue
  local readers = redis.pcall('SPUBLISH', C .. ':wake:' .. worker, message)
  if type(readers) == 'number' and readers > 0 then
    enter(P, job, worker, token)
    return true
  end
  redis.call('HDEL', set, 'j' .. token)
  redis.pcall('SPUBLISH', C .. ':wake:' .. worker, 'U' .. epoch .. token)
  return false
end

-- The same for one that waits; nil if its record cannot be read, or if too many of its key run: then the job no longer
-- waits. The second value: is it too much for this script?
local function hand_job(P, queue, worker, epoch, token, member)
  local job = Jobs.of_member(P, 'waiting', queue, member)
  local held = job and job.key and Jobs.keys.hold_back(P, job)
  if held then
    return nil, held == 'cut'
  end
  return job and hand_found_job(P, queue, worker, epoch, token, job, Jobs.run), false
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

-- A worker was handed `done` of its `free` hands for the queue, of which it has `hands`: it leaves the idle set, or
-- goes behind others there.
local function put_behind(P, queue, worker, free, hands, done)
  if done == free then
    redis.call('ZREM', P .. 'idle:' .. queue, worker)
  elseif done > 0 then
    redis.call('ZADD', P .. 'idle:' .. queue, 'XX', math.floor((hands - free + done) * 1000 / hands) * LEVEL
      + now_us() % LEVEL, worker)
  end
end

-- Hands the next `count` tasks and jobs to a worker. Returns how many it has got, how many came out of the list; is
-- anything left; is it too much for this script; and does the worker not hear?
local function hand_line(P, queue, worker, epoch, count, has_returned)
  local done, out, line = 0, 0, Jobs.next_out(P, queue, count, has_returned)
  for _, next_one in ipairs(line) do
    local token, member = unpack(next_one)
    local handed, is_cut, from_list
    if member then
      handed, is_cut = hand_job(P, queue, worker, epoch, token, member)
    else
      handed, is_cut, from_list = hand_next_task(P, queue, worker, epoch, token, has_returned)
      out = out + from_list
    end
    if is_cut or handed == false then
      return done, out, true, is_cut, not is_cut
    end
    done = done + (handed and 1 or 0)
  end
  return done, out, #line == count, false, false
end

-- Hands over up to n tasks and jobs, as hand_over(). The caller has asked Jobs.are_sound() and can_return().
local function hand_over_mixed(P, queue, n, has_returned)
  local most, given, out, is_left, is_cut = math.min(n, MIXED_MAX), 0, 0, true, false
  while given < most and is_left and not is_cut do
    local line = share_out(P, queue, most - given)
    if #line == 0 then
      break
    end
    for _, one in ipairs(line) do
      local worker, epoch, free, hands, count = unpack(one, 1, 5)
      local done, from_list, is_deaf = 0, 0, false
      if count > 0 then -- for none, next_out() would look at all that wait
        done, from_list, is_left, is_cut, is_deaf = hand_line(P, queue, worker, epoch, count, has_returned)
      end
      given, out = given + done, out + from_list
      if done > 0 then
        redis.call('HINCRBY', P .. 'worker:' .. worker, 'held', done)
      end
      put_behind(P, queue, worker, is_deaf and done or free, hands, done)
      if is_cut or not is_left then
        break
      end
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
