--[[
  take: take tasks and jobs under a lease, for a caller that is no worker.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] how many at most; 0: only move what is due
    ARGV[3] length of the lease, ms; 5 s more for each 256 KiB, or part of that, if 16 KiB or more are taken
    ARGV[4] "1": the caller waits on the queue's channel of work if there is nothing; "2": it has waited, and waits no
            longer
    ARGV[5] the call's name, by which `untake` gives back what it took: 16 characters that name the caller, a colon, and
            the call's number; "": nobody will
    ARGV[6] how long it has waited, ms     ARGV[7] the name of who takes, by which `fail_holder` ends these leases; "":
            nobody will
    ARGV[8] how many bytes a task or a job's record has that does not come along: exactly as many; 0: all come
  Returns {0, ms until something becomes ready or a lease lapses, -1: nothing will; when the lease ends, server ms; the
  first token; the tasks, whose tokens follow each other; 1: the call stopped before it had all that it could take,
  because that was many bytes, or because jobs are let go in steps: call again, else 0}. Where jobs wait too, or
  something came back, token and tasks are empty, and three elements follow for each process: its token, the job's id,
  and the job's record {field, value, ...} from before the take; for a task, its token, "", and the task. In place of
  one that has ARGV[8] bytes there is their number; it is leased all the same. A suspect comes alone, and has begun.
  A queue that is paused, or whose limit over all workers is reached, yields nothing. E_LOST if `untake` came before
  this call; {E_REDIS, key} for a key of the wrong type: nothing was changed. Writes the queue,
  the set, the ends and the holders of leases, the caller's key, the queue's counters, P:names, and the records of the
  jobs. Lets go what waited for a job that has ended, in whatever queue. Publishes to the workers that get what was due,
  and to those who listen. O(tasks + jobs log n).
]]
--- @include "due"
--- @include "types"
--- @include "big"
--- @include "available"
--- @include "takers"
--- @include "clock"
--- @include "calls"

local WAITS = '1'
local P, queue, call, holder, held_back = KEYS[1], ARGV[1], ARGV[5], ARGV[7] or '', tonumber(ARGV[8] or 0)
local list, key = P .. 'queues:' .. queue, P .. 'queue:' .. queue
local now = now_ms()
local function read_settings()
  return try('HMGET', key, 'paused', 'due', 'max_running', 'running', 'jobs', 'returned', 'big', 'rate')
end

local settings = read_settings()
if settings then
  note_type(key)
end
local void, to_let_go = P .. 'take:' .. call, P .. 'ended'
if not settings or not can_move_due(P, queue, 'STRLEN', void, 'ZCARD', to_let_go)
    or (holder ~= '' and not have_types({'HLEN', P .. 'holders:' .. queue, 'ZCARD', P .. 'holds:' .. holder})) then
  return {E_REDIS, damaged}
end
if has_type('STRLEN', void) ~= 0 then
  return E_LOST
end
local set, leases = P .. 'processing:' .. LEASE .. ':' .. queue, P .. 'leases:' .. queue

redis.call('HDEL', key, '-') -- needs no memory, so that a full Redis allows the others
local due = settings[2] and (whole(settings[2]) or 0) -- what is no time is looked at now, and set right
if due and due <= now then
  due = move_due(P, queue, now)
  settings = read_settings() -- lapsed leases made room
elseif not was_absent(to_let_go) then -- of whatever queue: without workers nobody else may look there
  let_go_due(P, queue, now)
  settings = read_settings() -- jobs may wait now
  local at_ms = first_score(to_let_go)
  due = at_ms < math.huge and math.min(due or at_ms, at_ms) or due
end
local result = {0, -1, now + tonumber(ARGV[3]), '', {}, 0}

local first_held, last_held -- tokens
local held, n_held_bytes = {}, 0 -- the fields of the leases, and about how many bytes come with them

local function hold_lease(token, field, what)
  first_held, last_held = first_held or token, token
  redis.call('HSET', set, field, what)
  held[#held + 1] = field
  if holder ~= '' then
    redis.call('HSET', P .. 'holders:' .. queue, token, holder)
    redis.call('ZADD', P .. 'holds:' .. holder, 0, token .. ':' .. queue)
  end
end

-- What the answer has in its place.
local function sent(n_bytes, what)
  n_held_bytes = n_held_bytes + n_bytes
  return held_back > 0 and n_bytes == held_back and n_bytes or what
end

-- A lapse counts against the task, so it must not lapse while the answer comes over a slow line. Each 256 KiB that it
-- begins are 5 s more: that is how long a client waits for them by default. Less than 16 KiB are there with their head.
local function begin_leases()
  if n_held_bytes >= 16384 then
    result[3] = result[3] + math.ceil(n_held_bytes / 262144) * 5000
  end
  local ends = {}
  for _, field in ipairs(held) do
    ends[#ends + 1] = result[3]
    ends[#ends + 1] = field
  end
  redis.call('ZADD', leases, unpack(ends))
end

-- Takes tasks alone, under tokens that follow each other. Returns how many.
local function take_tasks(n, is_big)
  n = math.min(n, redis.call('LLEN', list))
  if n == 0 then
    return 0
  end
  local first, is_large, is_cut = draw_tokens(P, n), false, n > BLIND_MAX
  result[4] = token_text(first)
  if is_big then
    result[5], is_cut = pop_by_length(list, n)
  else
    result[5] = redis.call('RPOP', list, math.min(n, BLIND_MAX))
  end
  for i, task in ipairs(result[5]) do
    local token = token_text(first + i - 1)
    hold_lease(token, token, task)
    result[5][i] = sent(#task, task)
    is_large = is_large or #task > INLINE_MAX
  end
  if is_big or is_large then
    note_big(P, queue, is_big)
  end
  result[6] = is_cut and 1 or 0
  try('HINCRBY', key, 'out', #result[5])
  return #result[5]
end

-- Takes tasks and jobs, in the order in which they come out. A suspect is taken alone: nobody knows what else the
-- caller will do beside it, but nothing else of this call. Returns how many.
local function take_mixed(n)
  Jobs.gathered = {}
  local taken, is_cut = Jobs.take(P, queue, n, LEASE, settings[6], true, function(token, task, job)
    hold_lease(token, job and 'j' .. token or token, job and job.id or task)
    local flat = job and job.flat or {'', task}
    --- @inline "record_bytes"
    result[#result + 1] = token
    result[#result + 1] = job and job.id or ''
    result[#result + 1] = sent(n_bytes, job and flat or task)
  end, holder ~= '' and holder or LEASE)
  Jobs.count_gathered()
  result[6] = is_cut and 1 or 0
  return taken
end

local n = settings[1] and 0 or math.min(tonumber(ARGV[2]), room_under_limit(settings[3], settings[4]))
local rate = settings[8] and Rate.of(P, queue, settings[8], now_us())
n = rate and math.min(n, rate.room) or n
if n > 0 then
  local is_mixed = (settings[5] or settings[6]) and Jobs.are_sound(P, queue)
  n = (is_mixed and take_mixed or take_tasks)(n, settings[7])
  result[6] = n == 0 and not was_absent(to_let_go) and first_score(to_let_go) <= now and 1 or result[6]
end
if rate then
  Rate.use(P, queue, rate, n)
end
if n > 0 then
  begin_leases()
  if call ~= '' then -- with GET a key of another type stays as it is
    try('SET', P .. 'take:' .. caller_of(call), call .. ' ' .. first_held .. ' ' .. last_held, 'GET', 'PX',
      math.min(result[3] - now, TAKE_KEPT_MS))
  end
  try('HINCRBY', key, 'running', n)
  try('ZADD', P .. 'names', 'NX', now, queue)
  note_due(P, queue, result[3])
  due = math.min(due or result[3], result[3])
end
if n == 0 and ARGV[4] == WAITS then
  keep_listening(P, queue, now)
  Takers.wait(P, queue, caller_of(call), ARGV[6])
elseif ARGV[4] ~= '0' then
  Takers.leave(P, queue, caller_of(call))
end
hand_over_waiting(P, queue)
hand_over_jobs(P)
if rate and rate.room < 1 and count_waiting(P, queue) > 0 then
  due = math.min(due or rate.next_ms, rate.next_ms)
end
if due then
  result[2] = math.max(0, due - now)
end
return result
