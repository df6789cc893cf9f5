--[[
  Work that becomes ready by itself: delayed tasks, in a zset of each queue by due time; leases that lapse, in another
  by their end; jobs that are scheduled or recur. The earliest of these times stands in the field `due` of the queue's
  settings (include set_due), so a queue without any costs nothing. A delayed member is "<token>:<task>": two equal
  tasks must not become one member. Jobs that came back and are not at their place yet are due at once.
]]
--- @include "big"
--- @include "put_back"
--- @include "blame"
--- @include "available"
--- @include "set_due"
--- @include "fields"
--- @include "try"
--- @include "types"
--- @include "announce"

-- What only this piece uses is a field, because a script may have 200 names at once. `lapsed_max`: the most leases that
-- one call moves. `left`: how many more delayed tasks and jobs this script may move; what is left is still due, and the
-- next call goes on. `has_looked`: has_lapsed() has moved what was due, which it does once. `silence`: of
-- silence_of_leases(), false: none; asked once, because the clock stands still.
local Due = {lapsed_max = 200, left = 300, has_looked = false}

local function delay_task(P, queue, at_ms, token, task)
  note_length(P, queue, task)
  redis.call('ZADD', P .. 'delayed:' .. queue, at_ms, token .. ':' .. task)
  note_due(P, queue, at_ms)
end

-- May this script move more of what is due?
local function may_move_more()
  return Due.left > 0 and moved_bytes < BYTES_MAX
end

-- One by one: a member has its task's bytes, which may be many.
function Due.move_delayed(P, queue, now)
  local delayed = P .. 'delayed:' .. queue
  for _ = 1, redis.call('ZCOUNT', delayed, '-inf', now) do
    if not may_move_more() then
      return
    end
    local member = redis.call('ZPOPMIN', delayed)[1]
    local task = string.sub(member, TOKEN_LEN + 2)
    note_length(P, queue, task) -- takes forget it when they leave nothing
    redis.call('LPUSH', P .. 'queues:' .. queue, task)
    Due.left, moved_bytes = Due.left - 1, moved_bytes + #member
  end
end

function Due.move_jobs(P, queue, now, index)
  if may_move_more() then
    local n, bytes = Jobs.move_due(P, queue, now, index, Due.left, BYTES_MAX - moved_bytes)
    Due.left, moved_bytes = Due.left - n, moved_bytes + bytes
  end
end

-- One lease has lapsed. If it was of a suspect, which had begun, that one is blamed; otherwise it becomes a suspect.
-- False if its task is too large to be moved in this script.
function Due.let_lapse(P, queue, set, field, is_counted)
  local token, value = token_of(field), redis.call('HGET', set, field)
  local entry = redis.call('HGET', P .. 'suspects:' .. queue, token)
  local has_begun = entry and select(2, parse_suspect(entry))
  if value and not is_job_field(field) and not may_move(#value) then
    return false
  elseif not value or (has_begun and not convict(P, LEASE, queue, set, field, entry, LAPSED)) then
    return true
  end
  if is_job_field(field) then
    put_back_job(P, queue, token, value, is_counted and not has_begun and LAPSED or nil)
  else
    if is_counted then
      redis.call('HSETNX', P .. 'suspects:' .. queue, token, '0')
    end
    return_task(P, LEASE, queue, field, value)
  end
  redis.call('HDEL', set, field)
  return true
end

local function first_score(key)
  return tonumber((try('ZRANGE', key, 0, 0, 'WITHSCORES') or {})[2]) or math.huge
end

function Due.find_silence(P, now)
--- @include "grace"
  if Due.silence == nil then
    Due.silence = silence_of_leases(P, now) or false
  end
  return Due.silence
end

-- Has a lease that ends at this time not lapsed yet, because Redis was silent?
local function is_spared(P, ends, now)
  local s = ends <= now and Due.find_silence(P, now)
  return s and s.from < ends and ends < s.to or false
end

-- When a lease of the queue lapses next; if that is past, it has.
local function next_lapse(P, queue, now)
  local leases = P .. 'leases:' .. queue
  local first = first_score(leases)
  if not is_spared(P, first, now) then
    return first
  end
  local other = redis.call('ZRANGEBYSCORE', leases, Due.silence.to, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return math.min(first + Due.silence.length, Due.silence.latest, tonumber(other[2]) or math.huge)
end

-- Those that have lapsed, at most Due.lapsed_max.
function Due.find_lapsed(P, queue, now)
  local leases, s = P .. 'leases:' .. queue, Due.find_silence(P, now)
  local lapsed = redis.call('ZRANGEBYSCORE', leases, '-inf', s and s.from or now, 'LIMIT', 0, Due.lapsed_max)
  local room = s and Due.lapsed_max - #lapsed or 0
  for _, field in ipairs(room > 0 and redis.call('ZRANGEBYSCORE', leases, s.to, now, 'LIMIT', 0, room) or {}) do
    lapsed[#lapsed + 1] = field
  end
  return lapsed
end

-- Leases that have lapsed: their tasks come back. Their holders count as dead.
local function move_lapsed(P, queue, now)
  local leases, set = P .. 'leases:' .. queue, P .. 'processing:' .. LEASE .. ':' .. queue
  local lapsed = Due.find_lapsed(P, queue, now)
  if #lapsed == 0 then
    return
  end
  local held, is_counted = redis.call('HLEN', set), max_crashes(P, queue) > 0
  has_type('HLEN', P .. 'holders:' .. queue) -- mostly not there
  drop_marked(P, LEASE, queue, set, lapsed)
  local unmarked = redis.call('HLEN', set)
  for _, field in ipairs(lapsed) do
    if not Due.let_lapse(P, queue, set, field, is_counted) then
      break
    end
    redis.call('ZREM', leases, field)
    local token = token_of(field)
    --- @inline "forget_holder"
  end
  local left = redis.call('HLEN', set)
  if left < held then
    try('HINCRBY', P .. 'queue:' .. queue, 'running', left - held)
  end
  if left < unmarked then
    Jobs.count(P, {queue = queue}, 'stalled', nil, nil, unmarked - left)
  end
end

-- Are the keys of the queue's jobs sound? They do not matter if nothing is scheduled, recurs or runs.
function Due.has_sound_jobs(P, queue)
  local scheduled, recurring = P .. 'scheduled:' .. queue, P .. 'recurring:' .. queue
  return (was_absent(scheduled) and was_absent(recurring) and has_type('ZCARD', P .. 'running:' .. queue) == 0)
    or Jobs.are_sound(P, queue)
end

-- Have the keys that moving due work writes the right types? `...`: a command and a key that is mostly not there. When
-- the caller asks has_type() for it, that costs no command then.
local function can_move_due(P, queue, ...)
  have_types({'ZCARD', P .. 'scheduled:' .. queue, 'ZCARD', P .. 'recurring:' .. queue,
    'ZCARD', P .. 'delayed:' .. queue, 'HLEN', P .. 'marks:' .. LEASE, 'HLEN', P .. 'notes:' .. LEASE,
    'ZCARD', P .. 'returned:' .. queue, 'HLEN', home_key(P, NO_HOME, queue), 'HLEN', P .. 'suspects:' .. queue,
    'ZCARD', P .. 'failed:' .. queue, 'HLEN', P .. 'failures:' .. queue, ...})
  return has_type('HLEN', P .. 'queue:' .. queue)
    and has_type('ZCARD', P .. 'delayed:' .. queue) and has_type('LLEN', P .. 'queues:' .. queue)
    and has_type('ZCARD', P .. 'leases:' .. queue) and has_type('HLEN', P .. 'processing:' .. LEASE .. ':' .. queue)
    and has_type('HLEN', P .. 'marks:' .. LEASE) and has_type('HLEN', P .. 'notes:' .. LEASE)
    and can_return(P, queue) and can_fail(P, queue) and Due.has_sound_jobs(P, queue)
end

-- Jobs that waited for one that has ended, whatever its queue. Jobs are made only when there are any.
local function let_go_due(P, queue, now)
  Jobs.let_go_due(P, queue, now)
end

-- Moves what is due into the queue, as far as one script may. Returns when something is due next, ms, or nil.
local function move_due(P, queue, now)
  local next_due = math.huge
  if redis.call('EXISTS', P .. 'returned:' .. queue) == 1 then
    settle(P, queue)
    next_due = when_to_settle(P, queue)
  end
  local leases = P .. 'leases:' .. queue
  for _, kind in ipairs({{P .. 'delayed:' .. queue, Due.move_delayed}, {leases, move_lapsed},
      {P .. 'scheduled:' .. queue, Due.move_jobs}, {P .. 'recurring:' .. queue, Due.move_jobs},
      {P .. 'ended', let_go_due}}) do
    local key, move = unpack(kind)
    local at_ms = key == leases and next_lapse(P, queue, now) or first_score(key)
    if at_ms <= now then
      move(P, queue, now, key)
      at_ms = key == leases and next_lapse(P, queue, now) or first_score(key)
    end
    next_due = math.min(next_due, at_ms)
  end
  local to_do = redis.call('HMGET', P .. 'queue:' .. queue, 'unhold', 'unfair')
  if (to_do[1] or to_do[2]) and not Jobs.are_sound(P, queue) then -- mostly can_move_due() has asked
    next_due = math.min(next_due, now + Settled.pause_ms)
  elseif (to_do[1] and Jobs.keys.go_on(P, queue)) or (to_do[2] and Jobs.keys.give_rounds(P, queue)) then
    next_due = now
  end
  if Due.silence and Due.silence.is_new then
    redis.call('HSET', P .. 'beat', 'seen', now)
  end
  next_due = next_due < math.huge and next_due or nil
  set_due(P, queue, next_due)
  return next_due
end

-- Is a lease past its end? First it and all others that are past theirs go to idle workers. One script moves only some
-- of them; for a lease that is still there, its own end decides.
local function has_lapsed(P, queue, token, now)
  local due = tonumber(redis.call('HGET', P .. 'queue:' .. queue, 'due'))
  if due and due <= now and not Due.has_looked then
    Due.has_looked = true
    move_due(P, queue, now)
    hand_over_waiting(P, queue)
    hand_over_jobs(P)
  end
  local ends = redis.call('ZMSCORE', P .. 'leases:' .. queue, token, 'j' .. token)
  local at_ms = tonumber(ends[1] or ends[2] or nil) or 0
  return at_ms <= now and not is_spared(P, at_ms, now)
end
