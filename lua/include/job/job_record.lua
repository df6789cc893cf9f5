--[[
  A job's record, and what is told of a job: the keys where it stands, the settings that count for it, statistics,
  history, events. A piece of jobs.
]]
--- @within "jobs"

local INDEX = {scheduled = 'scheduled:', depends = 'depends:', waiting = 'waiting:', held = 'held:',
  running = 'running:', complete = 'complete:', recurring = 'recurring:'}
Jobs.STATES = {'scheduled', 'depends', 'waiting', 'held', 'running', 'complete', 'recurring'}
local IS_KEYED = {waiting = true, held = true, running = true}
local DAY_MS = 86400000
local STATS_KEPT_MS = 31 * DAY_MS
local BUCKETS = 48 -- of the times in the statistics
-- A recurring job makes at most this many jobs in one call.
local READY_MAX = 100
-- The least that the setting keep_history allows (include/muster/job.h).
local KEEP_HISTORY_LEAST = 2

function Jobs.index(P, state, queue)
  return P .. INDEX[state] .. queue
end

Jobs.member = member_of

function Jobs.id_of(member)
  return string.sub(member, round_len(member) + TOKEN_LEN + 1)
end

-- Does a job stand in P:keyed? One of a fair queue that waits does even without a key.
function Jobs.is_keyed(job)
  return IS_KEYED[job.state] and (job.key or (job.round and job.state == 'waiting')) and true or false
end

-- Can a job come into a queue: have the keys that this writes the right types?
function Jobs.can_arrive(P, queue)
  return have_types({'ZCARD', P .. 'scheduled:' .. queue, 'ZCARD', P .. 'depends:' .. queue,
      'ZCARD', P .. 'recurring:' .. queue, 'ZCARD', P .. 'failed:' .. queue, 'HLEN', P .. 'failures:' .. queue,
      'ZCARD', P .. 'held:' .. queue, 'ZCARD', P .. 'keyed:' .. queue})
    and has_type('ZCARD', P .. 'waiting:' .. queue) and has_type('HLEN', P .. 'queue:' .. queue)
    and has_type('LLEN', P .. 'queues:' .. queue) and has_type('STRLEN', P .. 'token')
end

-- Have all keys of a queue's jobs the right types?
function Jobs.are_sound(P, queue)
  return Jobs.can_arrive(P, queue) and has_type('ZCARD', P .. 'running:' .. queue)
    and has_type('ZCARD', P .. 'complete:' .. queue)
end

local SETTINGS = {'keep_history', 'keep_jobs', 'keep_jobs_ms'}
local DEFAULTS = {SETTING_KEEP_HISTORY, SETTING_KEEP_JOBS, SETTING_KEEP_JOBS_MS}
local all, own = nil, {}

-- The namespace's settings; the fourth value is until when somebody listens.
local function namespace_settings(P)
  all = all or try('HMGET', P .. 'config', SETTINGS[1], SETTINGS[2], SETTINGS[3], 'listen') or {}
  return all
end

-- A queue's own settings; then whether jobs may wait, whether the queue's name is noted, and whether it is fair.
local function queue_settings(P, queue)
  if not own[queue] then
    local key = P .. 'queue:' .. queue
    own[queue] = try('HMGET', key, SETTINGS[1], SETTINGS[2], SETTINGS[3], 'jobs', 'named', 'fair')
    if not own[queue] then
      return {}
    end
    note_type(key)
  end
  return own[queue]
end
local JOBS, NAMED, FAIR = 4, 5, 6

-- Do the keys of the queue take turns?
function Jobs.is_fair(P, queue)
  return queue_settings(P, queue)[FAIR] == '1'
end

-- The value of keep_history, keep_jobs or keep_jobs_ms that counts for a queue.
local KEEP_HISTORY, KEEP_JOBS, KEEP_JOBS_MS = 1, 2, 3
local function setting(P, queue, which)
  return whole(queue_settings(P, queue)[which]) or whole(namespace_settings(P)[which]) or DEFAULTS[which]
end

-- A damaged counter stays as it is: statistics must never stop a job.
local IS_LASTING = {jobs_in = true, jobs_out = true, stalls = true, deaths = true} -- these lie in the queue's settings
local function add(key, field, n)
  if redis.pcall('HINCRBY', key, field, n) == n and not IS_LASTING[field] then
    redis.call('PEXPIRE', key, STATS_KEPT_MS) -- maybe its first field
  end
end

local function add_all(key, fields)
  for field, n in pairs(fields) do
    if not string.find(field, '_squares', 1, true) then
      add(key, field, n)
    else
      redis.pcall('HINCRBYFLOAT', key, field, string.format('%.0f', n))
    end
  end
end

-- The id of a unique task. The length goes before the name: then no name and task make the same text as those of
-- another queue.
function Jobs.unique_id(queue, task)
  return redis.sha1hex(#queue .. ':' .. queue .. task)
end

-- Counts that `what` happened to a job, or to n of them. A unique task is a task, and is not counted. `ms` is a time of
-- the kind `times` ("wait" or "run"); 0 ms adds nothing to the sums.
local LINE = {put = 'jobs_in', taken = 'jobs_out', stalled = 'stalls', died = 'deaths'}
local count_keys = {} -- queue -> {key of its settings, key of its statistics}
function Jobs.count(P, job, what, times, ms, n)
  n = n or 1
  local keys = count_keys[job.queue]
  if not keys then
    keys = {P .. 'queue:' .. job.queue, P .. 'stats:' .. math.floor(now_ms() / DAY_MS) .. ':' .. job.queue}
    count_keys[job.queue] = keys
  end
  local line, key = keys[1], keys[2]
  if LINE[what] and Jobs.gathered then
    local fields = Jobs.gathered[line] or {}
    fields[LINE[what]], Jobs.gathered[line] = (fields[LINE[what]] or 0) + n, fields
  elseif LINE[what] then
    add(line, LINE[what], n)
  end
  if job.unique then
    return
  end
  local fields = Jobs.gathered and Jobs.gathered[key] or {}
  fields[what] = (fields[what] or 0) + n
  if times then
    local bucket = 0
    while bucket < BUCKETS - 1 and ms >= 2 ^ bucket do
      bucket = bucket + 1
    end
    bucket = times .. ':' .. bucket
    fields[bucket] = (fields[bucket] or 0) + 1
  end
  if times and ms > 0 then
    local sum, squares = times .. '_ms', times .. '_squares'
    fields[sum], fields[squares] = (fields[sum] or 0) + ms, (fields[squares] or 0) + ms * ms
  end
  if Jobs.gathered then
    Jobs.gathered[key] = fields
  else
    add_all(key, fields)
  end
end

-- A script that moves many jobs sets Jobs.gathered to {} before the first one, and calls this after the last.
function Jobs.count_gathered()
  local gathered = Jobs.gathered
  Jobs.gathered = false
  for key, fields in pairs(gathered) do
    add_all(key, fields)
  end
end

-- The time as text, made once: the clock stands still while a script runs.
local now_as_text
local function now_text()
  now_as_text = now_as_text or string.format('%.0f', now_ms())
  return now_as_text
end

local function log(P, job, told_at, what, text)
  local key = P .. 'history:' .. job.id
  local at = told_at and string.format('%.0f', told_at) or now_text()
  local n = redis.pcall('RPUSH', key, at .. '\t' .. what .. '\t' .. text)
  local keep = type(n) == 'number' and n > KEEP_HISTORY_LEAST and setting(P, job.queue, KEEP_HISTORY)
  if keep and n > keep then -- the first line and the newest ones stay
    local first = redis.call('LPOP', key)
    redis.call('LPOP', key, n - keep)
    redis.call('LPUSH', key, first)
  end
end

-- What the holder of a running job is called. `told`: the holder, as the caller knows it; nil: as the record says.
function Jobs.name_of(P, job, told)
  local worker, queue, token = told or job.worker, job.queue, job.token or ''
  if worker == LEASE then
    --- @inline "holder_name"
    return name
  end
  return worker
end

-- Tells those who listen that something happened to a job. Of unique tasks nothing is told, nor kept as history.
function Jobs.publish_event(P, job, at_ms, what, text, worker)
  if not job.unique and is_heard(namespace_settings(P)[4]) then
    redis.pcall('PUBLISH', C .. ':events', table.concat({what, string.format('%.0f', at_ms), job.queue, job.id,
      worker or '', job.tracked or '0', text or ''}, '\t'))
  end
end

-- Adds a line to the job's history, and tells those who listen.
function Jobs.log_event(P, job, what, text, worker)
  local told_at = job.told_at
  worker = worker or job.lost_by
  job.told_at, job.lost_by = nil, nil
  if job.unique then
    return
  end
  log(P, job, told_at, what, text or '')
  Jobs.publish_event(P, job, told_at or now_ms(), what, text, worker)
end

-- Can a job's record be read?
local function is_record(job)
  return job.queue and job.state and job.place and #job.place == TOKEN_LEN
    and (INDEX[job.state] or job.state == 'failed')
end

-- A job's record. Or nil, and whether there is no record at all; if not, there is one that cannot be read. `flat` is
-- the record as HGETALL answered it.
function Jobs.read(P, id)
  local flat = try('HGETALL', P .. 'job:' .. id)
  if not flat or #flat == 0 then
    return nil, flat and true
  end
  local job = {}
  for i = 1, #flat, 2 do
    job[flat[i]] = flat[i + 1]
  end
  if not is_record(job) then
    return nil
  end
  job.id, job.flat, job.changed, job.round = id, flat, {}, round_of(job.round)
  job.keyed = Jobs.is_keyed(job) and Keys.member(job, job.state)
  return job
end

-- What forgetting a job, or letting go one that depends, needs of its record: not its bytes, which may be many.
local HEAD = {'queue', 'state', 'place', 'entry', 'tags', 'tracked', 'worker', 'token', 'priority', 'due', 'unique',
  'batch', 'made_by', 'key', 'round'}

-- A job's record as read() returns it, with the fields of HEAD alone.
function Jobs.read_head(P, id)
  local values = try('HMGET', P .. 'job:' .. id, unpack(HEAD))
  local job = {id = id, changed = {}}
  for i = 1, #HEAD do
    job[HEAD[i]] = values and values[i] or nil
  end
  if is_record(job) then
    job.round = round_of(job.round)
    job.keyed = Jobs.is_keyed(job) and Keys.member(job, job.state)
    return job
  end
end

-- Sets a field of the record, to be written by save(). nil: the field goes.
function Jobs.set(job, field, value)
  if type(value) ~= 'string' then -- to ask is cheaper than to convert
    value = value and tostring(value) or nil
  end
  if job[field] ~= value then
    job[field] = value
    job.changed[field] = value or false
  end
end

function Jobs.save(P, job)
  local key, given, taken, n = P .. 'job:' .. job.id, {}, {}, 0
  for field, value in pairs(job.changed) do
    if value then
      given[n + 1], given[n + 2] = field, value
      n = n + 2
    else
      taken[#taken + 1] = field
    end
  end
  if #taken > 0 then
    redis.call('HDEL', key, unpack(taken))
  end
  if n > 0 then
    redis.call('HSET', key, unpack(given, 1, n))
  end
  job.changed = {}
  if job.unsettled then
    Keys.settle_left(P, job)
  end
end

-- Is the job complete or failed? Then its id is free for a new one.
function Jobs.is_over(job)
  return job.state == 'complete' or job.state == 'failed'
end

local function number(job, field)
  local n = tonumber(job[field] or nil)
  return n and n > -2 ^ 53 and n < 2 ^ 53 and n or 0
end
Jobs.number = number

-- From which score on, as a record says where a script stopped: "(" before it says behind it. What is none, or was
-- written by hand and is no number: from the first one on.
local function range_from(text)
  local mark, at = string.match(text or '', '^(%(?)(.*)$')
  at = tonumber(at)
  return at and at == at and mark .. string.format('%.17g', at) or '-inf'
end
