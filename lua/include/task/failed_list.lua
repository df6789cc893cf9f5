--[[
  What is done with a failed list, as `failed` describes it.
]]
--- @within "failed"

-- A script drops at most TRIM_MAX entries because of a bound, and no more once these had TRIM_BYTES; the next failure,
-- or tidying, goes on.
local TRIM_MAX, TRIM_BYTES = 200, 4194304

-- Group and task of an entry; nil if it is malformed.
function Failed.parse(member)
  local worker, group, message, at = string.match(member, '^%w+:(%d+):(%d+):(%d+):()')
  if at then
    local from = at + worker
    return string.sub(member, from, from + group - 1), string.sub(member, from + group + message)
  end
end

-- The id in an entry of a job; nil for an entry of a task.
function Failed.job_of(member)
  if string.byte(member) == JOB_BYTE and string.find(member, ':', 1, true) == TOKEN_LEN + 2 then
    return (select(2, Failed.parse(member)))
  end
end

-- Is it the entry of a unique task?
function Failed.is_unique(member)
  return string.sub(member, 1, 1) == 'u' and string.find(member, ':', 1, true) == TOKEN_LEN + 2
end

-- The oldest entry whose score is not below `from`, and its score as text; nil: there is none.
function Failed.oldest(P, queue, from)
  local entry = redis.call('ZRANGEBYSCORE', P .. 'failed:' .. queue, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return entry[1], entry[1] and string.format('%.0f', entry[2])
end

function Failed.remove(P, queue, member)
  local figures, group = P .. 'failures:' .. queue, Failed.parse(member)
  if redis.call('ZREM', P .. 'failed:' .. queue, member) == 0 then
    return -- the trimming of another failure was first
  end
  if group and (try('HINCRBY', figures, 'g:' .. group, -1) or 1) <= 0 then
    redis.call('HDEL', figures, 'g:' .. group)
  end
  if Failed.job_of(member) and (try('HINCRBY', figures, 'jobs', -1) or 1) <= 0 then
    redis.call('HDEL', figures, 'jobs')
  end
  try('HINCRBY', figures, 'bytes', -#member)
  if redis.call('EXISTS', P .. 'failed:' .. queue) == 0 then
    redis.call('DEL', figures)
  end
end

-- A job's record may say nonsense, or nothing: then nobody knows which entry it is, and a check removes it.
function Failed.remove_at(P, queue, entry)
  local at = string.match(entry or '', '^%d+$')
  for _, member in ipairs(at and redis.call('ZRANGEBYSCORE', P .. 'failed:' .. queue, at, at) or {}) do
    Failed.remove(P, queue, member)
  end
end

-- Removes an entry for good, and its job with it. `entry` is the score, `why` the setting that drops it, or "".
function Failed.forget(P, queue, member, entry, why)
  local id = Failed.job_of(member)
  if not (id and Jobs.forget_failed(P, queue, entry, id, why)) then
    Failed.remove(P, queue, member)
  end
end

local FAILED_BOUNDS = {'keep_failed', 'keep_failed_bytes', 'keep_failed_ms'}
local FAILED_DEFAULTS = {SETTING_KEEP_FAILED, SETTING_KEEP_FAILED_BYTES, SETTING_KEEP_FAILED_MS}
local bounds = {}

-- The bounds of a queue's failed list, in the order of FAILED_BOUNDS, 0: none; read once in a script. False if it has
-- none at all.
local function bounds_of(P, queue)
  if bounds[queue] == nil then
    local own = try('HMGET', P .. 'queue:' .. queue, unpack(FAILED_BOUNDS)) or {}
    local all = try('HMGET', P .. 'config', unpack(FAILED_BOUNDS)) or {}
    local found, is_any = {}, false
    for i = 1, #FAILED_BOUNDS do
      found[i] = whole(own[i]) or whole(all[i]) or FAILED_DEFAULTS[i]
      is_any = is_any or found[i] > 0
    end
    bounds[queue] = is_any and found
  end
  return bounds[queue]
end

-- The name of the bound that the list is beyond, or nil. The newest entry stays, whatever its size, but not
-- past keep_failed_ms.
local function bound_exceeded(P, queue, now)
  local key, found = P .. 'failed:' .. queue, bounds_of(P, queue)
  local count = found and redis.call('ZCARD', key) or 0
  if count == 0 then
    return nil
  elseif found[1] > 0 and count > found[1] then
    return FAILED_BOUNDS[1]
  elseif found[2] > 0 and count > 1
      and (whole(redis.call('HGET', P .. 'failures:' .. queue, 'bytes')) or 0) > found[2] then
    return FAILED_BOUNDS[2]
  elseif found[3] > 0
      and redis.call('ZCOUNT', key, '-inf', string.format('%.0f', (now - found[3]) * 1000)) > 0 then
    return FAILED_BOUNDS[3]
  end
end

-- Tells a worker how many entries a bound has dropped: the one whose process failed, or the timer's keeper if that is
-- no registered worker.
local function tell_dropped(P, queue, n, why, worker)
  local epoch = worker and worker ~= '' and try('HGET', P .. 'worker:' .. worker, 'epoch')
  if not epoch then
    worker = try('GET', P .. 'timer')
    epoch = worker and try('HGET', P .. 'worker:' .. worker, 'epoch')
  end
  if epoch then
    redis.pcall('SPUBLISH', C .. ':wake:' .. worker, 'X' .. epoch .. string.format('%03d', #queue) .. queue .. n .. ' '
      .. why)
  end
end

local trim_left, trim_bytes_left = TRIM_MAX, TRIM_BYTES

-- May this script drop more?
function Failed.may_trim_more()
  return trim_left > 0 and trim_bytes_left > 0
end

-- Drops the oldest entries while the list is beyond its bounds. `worker` is whose process failed, if one did. Returns
-- how many went.
function Failed.trim(P, queue, now, worker)
  local n, why = 0, bound_exceeded(P, queue, now)
  local last = why
  while why and Failed.may_trim_more() do
    local member, entry = Failed.oldest(P, queue, '-inf')
    trim_left, trim_bytes_left = trim_left - 1, trim_bytes_left - #member
    Failed.forget(P, queue, member, entry, why)
    n, last = n + 1, why
    why = bound_exceeded(P, queue, now)
  end
  if n > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'dropped', n)
    tell_dropped(P, queue, n, last, worker)
  end
  return n
end

-- Draws the score of a new entry.
function Failed.draw_entry(P)
  return string.format('%.0f', draw_tokens(P, 1))
end

-- Adds an entry. For a job, `entry` is the score, drawn before, and `task` is the job's id. If the process was under a
-- lease, the name of who held that follows its `worker`.
function Failed.add(P, queue, now, token, worker, group, message, task, entry)
  local member = (entry and 'j' or '') .. token
  token = string.sub(token, -TOKEN_LEN) -- that of a unique task has a letter before it
  --- @inline "holder_name"
  worker = name == worker and name or worker .. ' ' .. name
  member = member .. ':' .. #worker .. ':' .. #group .. ':' .. #message .. ':'
    .. worker .. group .. message .. task
  redis.call('ZADD', P .. 'failed:' .. queue, entry or Failed.draw_entry(P), member)
  try('HINCRBY', P .. 'failures:' .. queue, 'g:' .. group, 1)
  if entry then
    try('HINCRBY', P .. 'failures:' .. queue, 'jobs', 1)
  end
  try('HINCRBY', P .. 'failures:' .. queue, 'bytes', #member)
  Failed.trim(P, queue, now, worker)
end

-- May the list have entries of jobs? Its counts tell, unless they are gone.
function Failed.has_jobs(P, queue)
  local counts = redis.call('HMGET', P .. 'failures:' .. queue, 'jobs', 'bytes')
  return (counts[1] or not counts[2]) and redis.call('EXISTS', P .. 'failed:' .. queue) == 1
end

-- How many bytes a script reads if it moves an entry: for a job, the data in its record too.
local function size_of_entry(P, member)
  local id = Failed.job_of(member)
  return #member + (id and try('HSTRLEN', P .. 'job:' .. id, 'data') or 0)
end

-- Moves the entries with the names args[5...]. Returns how many went; how many names were not there, or their entries
-- stayed; how many names were looked at; and 1 if the next one is to be asked for again.
local function move_failed_by_name(P, queue, args, move)
  local moved, missing, bytes, seen = 0, 0, 0, {}
  for i = 5, #args do
    local number = token_number(args[i])
    local entry = number and string.format('%.0f', number)
    local member = entry and not seen[entry]
      and redis.call('ZRANGEBYSCORE', P .. 'failed:' .. queue, entry, entry, 'LIMIT', 0, 1)[1]
    local size = member and size_of_entry(P, member) or 0
    if bytes > 0 and bytes + size > PAGE_BYTES then
      return moved, missing, i - 5
    end
    bytes = bytes + size
    local is_moved = member and move(member, entry)
    if is_moved == 'again' then
      return moved, missing, i - 5, 1
    elseif is_moved then
      moved, seen[entry] = moved + 1, true
    elseif not seen[entry or ''] then
      missing = missing + 1
    end
  end
  return moved, missing, #args - 4
end

-- Moves up to n entries of a group ("": of all groups), oldest first, from a score on: no rank, because others move
-- entries, too, and those that are left behind must not make what follows come nearer. Returns how many went; and the
-- score to go on from, -1: there are no more, or n went. If that one is to be asked for again: also 0 and 1.
local function move_failed_by_group(P, queue, group, n, from, move)
  local moved, bytes = 0, 0
  for _ = 1, FAILED_PAGE do
    local member, entry
    if moved < n then
      member, entry = Failed.oldest(P, queue, string.format('%.0f', from))
    end
    if not member then
      return moved, -1
    end
    local is_meant = group == '' or Failed.parse(member) == group
    local size = is_meant and size_of_entry(P, member) or #member
    if bytes > 0 and bytes + size > PAGE_BYTES then
      break
    end
    bytes = bytes + size
    local is_moved = is_meant and move(member, entry)
    if is_moved == 'again' then
      return moved, from, 0, 1
    elseif is_moved then
      moved = moved + 1
    else
      from = tonumber(entry) + 1
    end
  end
  return moved, moved == n and -1 or from
end

-- Moves the entries that a call of replay or drop means: those that args names from the fifth on; otherwise up to n of
-- a group, from a score on. move(member, entry) takes one away, `entry` is its score; false: it stays; "again": another
-- call is to go on with it. Returns what those scripts answer.
function Failed.move(P, queue, group, n, from, args, move)
  if #args > 4 then
    return {0, move_failed_by_name(P, queue, args, move)}
  end
  return {0, move_failed_by_group(P, queue, group, tonumber(n), tonumber(from), move)}
end
