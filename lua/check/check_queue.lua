--[[
  check_queue: do a queue's counters and times agree with its contents, and does nothing wait beside an idle worker?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] queue
    ARGV[3] "1": count what runs, and trust the indexes of jobs     ARGV[4] "1": trust the workers' records
  Returns {0, 0, then for each find: its key, what is wrong, 1 if it was repaired}. A key of the wrong type is a find of
  its own: what does not depend on it is looked at.
  Repairs the queue's counters and times, P:due, P:names, the counts of failures, P:moves, P:gaps and what workers'
  records count of these; hands over what waits.
  Publishes to the workers that get tasks, and to those who wait. O(registered workers, reserved moves, and failures:
  of more than 5 000 or 4 MiB only the number is compared, unless it is wrong).
]]
--- @include "silence"
--- @include "finds"
--- @include "counts"
--- @include "due"
--- @include "available"
--- @include "jobs"

local P, queue = KEYS[1], ARGV[2]
local key, list, idle = P .. 'queue:' .. queue, P .. 'queues:' .. queue, P .. 'idle:' .. queue
local check = new_check(P, ARGV[1])
local settings = try('HMGET', key, 'running', 'due', 'paused', 'named', 'jobs', 'max_running', 'returned',
  'rate', 'tat', 'unhold', 'unfair')
if not settings then
  return check.answer
end
local has_jobs = ARGV[3] == '1'
local can_hand_over = can_move_due(P, queue) and try('ZCARD', idle) and try('ZCARD', P .. 'registry')

-- A script may have 200 names at once, so these are fields.
local look_at = {}

function look_at.count()
  local running = count_running(P, queue)
  if running and running ~= tonumber(settings[1] or 0) then
    note_find(check, key, 'says that ' .. (settings[1] or 0) .. ' run, but the sets hold ' .. running, function()
      set_running(P, queue, running)
      settings[1] = string.format('%d', running)
      if can_hand_over then -- what it said too much held up others
        hand_over_waiting(P, queue)
      end
      return 'set it right'
    end)
  end
end

local function earliest_due()
  local zsets = {P .. 'delayed:' .. queue, P .. 'leases:' .. queue}
  if has_jobs then
    zsets[3], zsets[4] = P .. 'scheduled:' .. queue, P .. 'recurring:' .. queue
  end
  local earliest
  for _, zset in ipairs(zsets) do
    local at = zset == zsets[2] and next_lapse(P, queue, now_ms()) or first_score(zset)
    earliest = at < math.huge and math.min(at, earliest or at) or earliest
  end
  if settings[10] or settings[11] then -- somebody is to look at what is held, or to give rounds
    earliest = math.min(earliest or now_ms(), now_ms())
  end
  return earliest
end

-- If the time is later than the earliest, nobody looks in time. An earlier time does no harm.
function look_at.due(earliest)
  local due = tonumber(settings[2] or nil)
  if earliest and (not due or due > earliest) then
    local what = "says 'due' " .. (settings[2] or 'never') .. ', but something is due at '
    note_find(check, key, what .. string.format('%.0f', earliest), function()
      redis.call('HDEL', key, 'due')
      note_due(P, queue, earliest)
      return 'set it right'
    end)
  end
end

-- The same for the time that the timer's keeper uses. It puts a damaged queue off for a moment.
local TIMER_PAUSE_MS = 1000
function look_at.timer(earliest)
  local due = try('ZSCORE', P .. 'due', queue)
  local latest = earliest and math.max(earliest, now_ms() + TIMER_PAUSE_MS)
  if latest and due ~= nil and (tonumber(due or nil) or math.huge) > latest then
    note_find(check, P .. 'due', "has the queue '" .. queue .. "' too late or not at all", function()
      set_due(P, queue, earliest)
      return 'set it right'
    end)
  end
end

-- Fields that tell others that they need not look elsewhere.
function look_at.fields()
  local now = now_ms()
  if settings[4] and try('ZSCORE', P .. 'names', queue) == false then
    note_find(check, key, 'says that the name is noted, but it is not', function()
      redis.call('ZADD', P .. 'names', 'NX', now, queue)
      return 'noted it'
    end)
  end
  if has_jobs and not settings[5] and (try('ZCARD', P .. 'waiting:' .. queue) or 0) > 0 then
    note_find(check, key, 'does not say that jobs wait', function()
      redis.call('HSET', key, 'jobs', '1')
      return 'said so'
    end)
  end
end

-- A time that is none counts as long past.
function look_at.rate()
  if settings[9] and not string.match(settings[9], '^%d+$') then
    note_find(check, key, "has a field 'tat' that is no time", function()
      redis.call('HDEL', key, 'tat')
      return 'removed it'
    end)
  end
end

-- What came back without its field is a find of check_returned. Where a key of the queue has a wrong type, work may
-- well wait.
function look_at.idle()
  local are_jobs_sound = Jobs.are_sound(P, queue)
  if not can_hand_over or (settings[5] and not are_jobs_sound) then
    return
  end
  local tasks, waiting = redis.call('LLEN', list), redis.call('LLEN', list)
  waiting = settings[7] and waiting + count_returned(P, queue) or waiting
  waiting = has_jobs and are_jobs_sound and waiting + redis.call('ZCARD', P .. 'waiting:' .. queue) or waiting
  local is_on_its_way = (tonumber(settings[2] or nil) or math.huge) <= now_ms()
  if waiting == 0 or is_on_its_way or settings[3] or room_under_limit(settings[6], settings[1]) == 0 then
    return
  end
  local rate = settings[8] and Rate.of(P, queue, settings[8], now_us())
  if rate and (tonumber(settings[2] or nil) or math.huge) <= rate.next_ms then
    return -- the rate did not allow them, and somebody will look when it does; in steps, so maybe a little later
  end
  for _, worker in ipairs(redis.call('ZRANGE', idle, 0, -1)) do
    if free_hands(P, queue, worker) then
      local what = 'has ' .. plural(waiting, 'task') .. " waiting beside the idle worker '" .. worker .. "'"
      what = rate and rate.room < 1 and what .. ', and nobody will look when the rate allows them' or what
      note_find(check, tasks > 0 and list or P .. 'waiting:' .. queue, what, function()
        hand_over_waiting(P, queue)
        return waiting - count_waiting(P, queue) .. ' handed over'
      end)
      return
    end
  end
end

-- The counts of the failed list, and how many of its entries are malformed.
local function count_failed()
  local figures, malformed = {}, 0
  for from = 0, redis.call('ZCARD', P .. 'failed:' .. queue) - 1, FAILED_PAGE do
    for _, member in ipairs(redis.call('ZRANGE', P .. 'failed:' .. queue, from, from + FAILED_PAGE - 1)) do
      local group = Failed.parse(member)
      figures.bytes = (figures.bytes or 0) + #member
      figures.jobs = Failed.job_of(member) and (figures.jobs or 0) + 1 or figures.jobs
      if group then
        figures['g:' .. group] = (figures['g:' .. group] or 0) + 1
      else
        malformed = malformed + 1
      end
    end
  end
  return figures, malformed
end

local function are_equal(figures, flat)
  for i = 1, #flat, 2 do
    if figures[flat[i]] ~= tonumber(flat[i + 1]) then
      return false
    end
  end
  local n = 0
  for _ in pairs(figures) do
    n = n + 1
  end
  return n * 2 == #flat
end

-- Does a list that is too long to be read in one script agree with its counts, as far as numbers tell? If not, it is
-- read all the same: then something is damaged, and must be counted again.
local READ_MAX, READ_BYTES_MAX = 5000, 4194304
local function is_long_and_right()
  local entries, named = redis.call('ZCARD', P .. 'failed:' .. queue), 0
  local flat = redis.call('HGETALL', P .. 'failures:' .. queue)
  local bytes = 0
  for i = 1, #flat, 2 do
    local n = whole(flat[i + 1])
    if not n then
      return false
    end
    bytes = flat[i] == 'bytes' and n or bytes
    named = named + (string.sub(flat[i], 1, 2) == 'g:' and n or 0)
  end
  return (entries > READ_MAX or bytes > READ_BYTES_MAX) and named == entries
end

function look_at.failed()
  if not try('ZCARD', P .. 'failed:' .. queue) or not try('HLEN', P .. 'failures:' .. queue) or is_long_and_right() then
    return
  end
  local counted, malformed = count_failed()
  local figures = P .. 'failures:' .. queue
  if malformed > 0 then
    note_find(check, P .. 'failed:' .. queue, 'has ' .. plural(malformed, 'member')
      .. ' of another form; look for them with ZRANGE, and remove them with ZREM')
  end
  if not are_equal(counted, redis.call('HGETALL', figures)) then
    note_find(check, figures, 'does not agree with the failed list', function()
      redis.call('DEL', figures)
      for field, n in pairs(counted) do
        redis.call('HSET', figures, field, n)
      end
      return 'counted again'
    end)
  end
end

if ARGV[3] == '1' then
  look_at.count()
end
local earliest = earliest_due()
look_at.due(earliest)
look_at.timer(earliest)
look_at.fields()
look_at.rate()
look_at.idle()
look_at.failed()
-- Known in this block alone: a script may have 200 names at once.
do
--- @include "shares"
  look_at_shares(check, queue, ARGV[4] == '1')
end
return check.answer
