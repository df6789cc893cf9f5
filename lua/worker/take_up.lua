--[[
  take_up: a worker that resumes takes up what its former lives held. It calls this when all its queues are served, and
  before it takes anything else, until there is no more. A call moves at most 1 000 processes and 4 MiB of tasks, or one
  larger task.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number     ARGV[4...] the queues that it serves
  Returns {E_GONE} or {E_STATE}, or {E_REDIS, key} for a key of the wrong type: nothing was changed. Or {0, number of
  processes that are the worker's now, 1: there is more, {queue, number of processes that went back, ...}}. The last
  call gives back what belongs to queues that are not among these. The processes have new tokens; a read-back names
  them. Writes the worker's record and sets, what the former lives left, marks, suspects, and the records of jobs.
  Publishes to the workers that get what went back, and to those who listen. O(processes left).
]]
--- @include "owner"
--- @include "retire"

local P, worker, args = KEYS[1], ARGV[1], ARGV
local PROCESSES_MAX = 1000
local key = P .. 'worker:' .. worker
local status = check_owner(P, worker, ARGV[2], ARGV[3])
if status ~= 0 then
  return {status}
end
local names_of, foreign, is_served, sets = {}, {}, {}, {}
local left = homes_of(redis.call('HGETALL', key))
for i = 4, #args do
  is_served[args[i]] = true
end
for _, old in ipairs(left) do
  names_of[old.queue] = old.homes
  local mine = is_served[old.queue] and sets or foreign
  mine[#mine + 1] = old.queue
end
local wrong = #left > 0 and damaged_key(P, worker, sets, left)
if wrong then
  return {E_REDIS, wrong}
end
redis.call('HDEL', key, '-') -- needs no memory, so that a full Redis allows the others

local moved, gone = 0, {}

-- One job under a new token. If its record says that it is elsewhere, or if it was cancelled, it is in nobody's hands.
local function take_up_job(queue, set, token, new, id)
  local job = Jobs.read_or_fail(P, queue, id, token, worker) -- its mark is still there
  local entry = redis.call('HDEL', P .. 'suspects:' .. queue, token) == 1
  if not job then
    gone[queue] = (gone[queue] or 0) + 1
    return 0
  end
  Jobs.set(job, 'token', new)
  if entry then
    Jobs.set(job, 'suspect', '1')
  end
  Jobs.save(P, job)
  redis.call('HSET', set, 'j' .. new, id)
  return 1
end

local function take_up_task(queue, set, token, new, task)
  local firsts, first = firsts_key(P, worker, queue), read_firsts(P, worker, queue, token)[token]
  if first then
    redis.call('HDEL', firsts, token)
  end
  try('HSET', firsts, new, string.format('%.0f', first or score_of(token)))
  local entry = redis.call('HGET', P .. 'suspects:' .. queue, token)
  redis.call('HSET', set, new, task)
  if entry then
    redis.call('HSET', P .. 'suspects:' .. queue, new, entry)
    acquit(P, queue, token)
  end
  return 1
end

local function take_up_one(queue, from, field, new)
  local value, token = redis.call('HGET', from, field), token_of(field)
  if not is_job_field(field) and not may_move(#value) then
    return nil
  end
  local set = P .. 'processing:' .. worker .. ':' .. queue
  local n = (is_job_field(field) and take_up_job or take_up_task)(queue, set, token, new, value)
  local kind = redis.call('HGET', P .. 'marks:' .. worker, token)
  if kind then
    redis.call('HDEL', P .. 'marks:' .. worker, token)
    if n == 1 then
      redis.call('HSET', P .. 'marks:' .. worker, new, kind)
    end
  end
  redis.call('HDEL', from, field) -- last: after an error it is there twice rather than lost
  return n
end

-- Takes up what is in one home, the first one taken first. Is it empty now?
local function take_up(queue, home)
  local from = home_key(P, home, queue)
  local fields = redis.call('HKEYS', from)
  local firsts = read_firsts(P, worker, queue)
  local function place(field)
    return firsts[field] or math.abs(score_of(field))
  end
  table.sort(fields, function(a, b) return place(a) < place(b) end)
  local n = math.min(#fields, PROCESSES_MAX - moved)
  local first = n > 0 and draw_tokens(P, n)
  for i = 1, n do
    local done = take_up_one(queue, from, fields[i], token_text(first + i - 1))
    if not done then
      return false
    end
    moved = moved + done
  end
  return n == #fields
end

-- Is nothing left of the queue?
local function take_up_all(queue)
  local names = names_of[queue]
  while names[1] and take_up(queue, names[1]) do
    table.remove(names, 1)
  end
  if names[1] then
    redis.call('HSET', key, 'r:' .. queue, table.concat(names, ' '))
    return false
  end
  redis.call('HDEL', key, 'r:' .. queue)
  return true
end

local is_more = false
for i = 4, #args do
  is_more = is_more or (names_of[args[i]] and not take_up_all(args[i])) or false
end
if moved > 0 then
  redis.call('HINCRBY', key, 'held', moved)
end
for queue, n in pairs(gone) do
  try('HINCRBY', P .. 'queue:' .. queue, 'running', -n)
  touched_by_jobs[queue] = true -- a place is free: the queue may have a limit
end
local given_back = {}
for _, queue in ipairs(is_more and {} or foreign) do
  local n = give_back(P, worker, queue, nil, nil, names_of[queue])
  redis.call('HDEL', key, 'r:' .. queue)
  given_back[#given_back + 1] = queue
  given_back[#given_back + 1] = n
  hand_over_waiting(P, queue)
end
hand_over_jobs(P)
return {0, moved, is_more and 1 or 0, given_back}
