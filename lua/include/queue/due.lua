--[[
  Work that becomes ready by itself: delayed tasks, in a zset of each queue by due time; leases that lapse, in another
  by their end; jobs that are scheduled or recur. The earliest of these times stands in the field `due` of the queue's
  settings (include set_due), so a queue without any costs nothing. A delayed member is "<token>:<task>": two equal
  tasks must not become one member.
]]
--- @include "put_back"
--- @include "available"
--- @include "set_due"
--- @include "fields"
--- @include "try"
--- @include "types"
--- @include "announce"

-- The most leases that one call moves. One take can hold 1000 leases: if they went back in parts, the parts would lie
-- in the wrong order.
local LAPSED_MAX = 1000
-- How many more delayed tasks and jobs this script may move, and how many bytes of them, unless the first has more.
-- What is left is still due, and the next call goes on.
local due_left, due_bytes_left = 300, 4194304

local function delay_task(P, queue, at_ms, token, task)
  redis.call('ZADD', P .. 'delayed:' .. queue, at_ms, token .. ':' .. task)
  note_due(P, queue, at_ms)
end

-- May this script move more of what is due?
local function may_move_more()
  return due_left > 0 and due_bytes_left > 0
end

-- One by one: a member has its task's bytes, which may be many.
local function move_delayed(P, queue, now)
  local delayed = P .. 'delayed:' .. queue
  for _ = 1, redis.call('ZCOUNT', delayed, '-inf', now) do
    if not may_move_more() then
      return
    end
    local member = redis.call('ZPOPMIN', delayed)[1]
    redis.call('LPUSH', P .. 'queues:' .. queue, string.sub(member, TOKEN_LEN + 2))
    due_left, due_bytes_left = due_left - 1, due_bytes_left - #member
  end
end

local function move_due_jobs(P, queue, now, index)
  if may_move_more() then
    local n, bytes = Jobs.move_due(P, queue, now, index, due_left, due_bytes_left)
    due_left, due_bytes_left = due_left - n, due_bytes_left - bytes
  end
end

-- Leases that have lapsed: their tasks go back to the front. Their holders count as dead.
local function move_lapsed(P, queue, now)
  local leases, set = P .. 'leases:' .. queue, P .. 'processing:' .. LEASE .. ':' .. queue
  local fields = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, LAPSED_MAX)
  local numbers, tasks = {}, {}
  for _, field in ipairs(fields) do
    local number, task = token_number(token_of(field)), redis.call('HGET', set, field)
    if number and task then
      numbers[#numbers + 1] = number
      tasks[number] = is_job_field(field) and {job = task} or task
    end
  end
  if #fields == 0 then
    return
  end
  table.sort(numbers)
  local held = #numbers
  numbers = drop_marked(P, LEASE, queue, numbers, tasks)
  numbers = stop_poison(P, LEASE, queue, numbers, tasks, now, 'its lease lapsed')
  push_front(P, queue, numbers, tasks)
  redis.call('HDEL', set, unpack(fields))
  redis.call('ZREM', leases, unpack(fields))
  try('HINCRBY', P .. 'queue:' .. queue, 'running', -held)
end

-- Are the keys of the queue's jobs sound? They do not matter if nothing is scheduled, recurs or runs.
local function has_sound_jobs(P, queue)
  local scheduled, recurring = P .. 'scheduled:' .. queue, P .. 'recurring:' .. queue
  return (was_absent(scheduled) and was_absent(recurring) and has_type('ZCARD', P .. 'running:' .. queue) == 0)
    or Jobs.are_sound(P, queue)
end

-- Have the keys that moving due work writes the right types?
local function can_move_due(P, queue)
  have_types({'ZCARD', P .. 'scheduled:' .. queue, 'ZCARD', P .. 'recurring:' .. queue,
    'ZCARD', P .. 'delayed:' .. queue, 'HLEN', P .. 'marks:' .. LEASE, 'HLEN', P .. 'notes:' .. LEASE,
    'HLEN', P .. 'crashes:' .. queue, 'ZCARD', P .. 'failed:' .. queue, 'HLEN', P .. 'failures:' .. queue})
  return has_type('HLEN', P .. 'queue:' .. queue)
    and has_type('ZCARD', P .. 'delayed:' .. queue) and has_type('LLEN', P .. 'queues:' .. queue)
    and has_type('ZCARD', P .. 'leases:' .. queue) and has_type('HLEN', P .. 'processing:' .. LEASE .. ':' .. queue)
    and has_type('HLEN', P .. 'marks:' .. LEASE) and has_type('HLEN', P .. 'notes:' .. LEASE)
    and has_type('HLEN', P .. 'crashes:' .. queue)
    and can_fail(P, queue) and has_sound_jobs(P, queue)
end

local function first_score(key)
  return tonumber((try('ZRANGE', key, 0, 0, 'WITHSCORES') or {})[2]) or math.huge
end

-- Jobs that waited for one that has ended, whatever its queue. Jobs are made only when there are any.
local function let_go_due(P, queue, now)
  Jobs.let_go_due(P, queue, now)
end

-- Moves what is due into the queue, as far as one script may. Returns when something is due next, ms, or nil.
local function move_due(P, queue, now)
  local next_due = math.huge
  for _, kind in ipairs({{P .. 'delayed:' .. queue, move_delayed}, {P .. 'leases:' .. queue, move_lapsed},
      {P .. 'scheduled:' .. queue, move_due_jobs}, {P .. 'recurring:' .. queue, move_due_jobs},
      {P .. 'ended', let_go_due}}) do
    local key, move = unpack(kind)
    local at_ms = first_score(key)
    if at_ms <= now then
      move(P, queue, now, key)
      at_ms = first_score(key)
    end
    next_due = math.min(next_due, at_ms)
  end
  next_due = next_due < math.huge and next_due or nil
  set_due(P, queue, next_due)
  return next_due
end

-- Is a lease past its end? First it and all others that are past theirs go to idle workers. One call moves only some of
-- them; for a lease that is still there, its own end decides.
local function has_lapsed(P, queue, token, now)
  local due = tonumber(redis.call('HGET', P .. 'queue:' .. queue, 'due'))
  if due and due <= now then
    move_due(P, queue, now)
    hand_over_waiting(P, queue)
  end
  local ends = redis.call('ZMSCORE', P .. 'leases:' .. queue, token, 'j' .. token)
  return (tonumber(ends[1] or ends[2] or nil) or 0) <= now
end
