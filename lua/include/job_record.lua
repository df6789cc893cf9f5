--[[
  A job's record, and what is told of it: the keys that it stands in, the settings that count for it, statistics,
  history, events. A piece of jobs.lua.
]]
local INDEX = {scheduled = 'scheduled:', depends = 'depends:', waiting = 'waiting:', running = 'running:',
  complete = 'complete:', recurring = 'recurring:'}
Jobs.STATES = {'scheduled', 'depends', 'waiting', 'running', 'complete', 'recurring'}
local PLACE_LEN = 11
local DAY_MS = 86400000
local STATS_KEPT_MS = 31 * DAY_MS
-- So many jobs become ready per call at most.
local READY_MAX = 100

function Jobs.index(P, state, queue)
  return P .. INDEX[state] .. queue
end

function Jobs.member(job)
  return job.place .. job.id
end

function Jobs.id_of(member)
  return string.sub(member, PLACE_LEN + 1)
end

-- Have the keys their types that the jobs of a queue are in? Asked once: no script changes a type.
local sound = {}
function Jobs.are_sound(P, queue)
  if sound[queue] then
    return true
  end
  for _, state in ipairs(Jobs.STATES) do
    if not try('ZCARD', Jobs.index(P, state, queue)) then
      return false
    end
  end
  sound[queue] = try('HLEN', P .. 'queue:' .. queue) and try('LLEN', P .. 'queues:' .. queue) and can_fail(P, queue)
  return sound[queue]
end

local known = {}

-- What counts for a queue: {keep_history, keep_jobs, keep_jobs_ms}.
function Jobs.settings(P, queue)
  local own = known[queue]
  if not own then
    local names = {'keep_history', 'keep_jobs', 'keep_jobs_ms'}
    own = try('HMGET', P .. 'queue:' .. queue, unpack(names)) or {}
    local all = try('HMGET', P .. 'config', unpack(names)) or {}
    local default = {SETTING_KEEP_HISTORY, SETTING_KEEP_JOBS, SETTING_KEEP_JOBS_MS}
    for i = 1, 3 do
      own[i] = tonumber(own[i] or nil) or tonumber(all[i] or nil) or default[i]
    end
    known[queue] = own
  end
  return own
end

-- Statistics never stand in the way of a job: a damaged counter stays as it is.
local function add(key, field, command, n)
  if redis.pcall(command, key, field, n) == 1 and command == 'HINCRBY' then
    redis.call('PEXPIRE', key, STATS_KEPT_MS) -- maybe its first field
  end
end

function Jobs.count(P, queue, what, times, ms)
  local key = P .. 'stats:' .. math.floor(now_ms() / DAY_MS) .. ':' .. queue
  add(key, what, 'HINCRBY', 1)
  if times then
    local bucket = 0
    while bucket < 47 and ms >= 2 ^ bucket do
      bucket = bucket + 1
    end
    add(key, times .. '_n', 'HINCRBY', 1)
    add(key, times .. '_ms', 'HINCRBY', ms)
    add(key, times .. '_squares', 'HINCRBYFLOAT', string.format('%.0f', ms * ms))
    add(key, times .. ':' .. bucket, 'HINCRBY', 1)
  end
end

local function log(P, job, at_ms, what, text)
  local key = P .. 'history:' .. job.id
  local n = redis.pcall('RPUSH', key, string.format('%.0f', at_ms) .. '\t' .. what .. '\t' .. text)
  local keep = type(n) == 'number' and Jobs.settings(P, job.queue)[1] or 0
  if type(n) == 'number' and n > keep then -- the first line and the newest ones stay
    local first = redis.call('LPOP', key)
    redis.call('LPOP', key, n - keep)
    redis.call('LPUSH', key, first)
  end
end

local heard
function Jobs.say(P, job, at_ms, what, text, worker)
  if heard == nil then
    heard = is_heard(try('HGET', P .. 'config', 'listen'))
  end
  if heard then
    redis.pcall('PUBLISH', P .. 'events', table.concat({what, string.format('%.0f', at_ms), job.queue, job.id,
      worker or '', job.tracked or '0', text or ''}, '\t'))
  end
end

-- Into its history, and to those who listen.
function Jobs.tell(P, job, what, text, worker)
  local at_ms = job.told_at or now_ms()
  job.told_at = nil
  log(P, job, at_ms, what, text or '')
  Jobs.say(P, job, at_ms, what, text, worker)
end

-- A job's record, or nil for one that cannot be read. `flat`: as HGETALL answered.
function Jobs.read(P, id)
  local flat = try('HGETALL', P .. 'job:' .. id)
  if not flat then
    return nil
  end
  local job = {}
  for i = 1, #flat, 2 do
    job[flat[i]] = flat[i + 1]
  end
  if not (job.queue and job.state and job.place and #job.place == PLACE_LEN
      and (INDEX[job.state] or job.state == 'failed')) then
    return nil
  end
  job.id, job.flat, job.changed = id, flat, {}
  return job
end

-- nil: no such field any more.
function Jobs.set(job, field, value)
  job[field] = value and tostring(value) or nil
  job.changed[field] = job[field] or false
end

function Jobs.save(P, job)
  local key, given = P .. 'job:' .. job.id, {}
  for field, value in pairs(job.changed) do
    if value then
      given[#given + 1] = field
      given[#given + 1] = value
    else
      redis.call('HDEL', key, field)
    end
  end
  if #given > 0 then
    redis.call('HSET', key, unpack(given))
  end
  job.changed = {}
end

-- Is it done, one way or the other? Then its id is free for a new one.
function Jobs.is_over(job)
  return job.state == 'complete' or job.state == 'failed'
end

local function number(job, field)
  return tonumber(job[field] or nil) or 0
end
Jobs.number = number
