--[[
  Blame: who killed a worker, or let a lease lapse? If a suspect had begun, it was alone, and nothing else can have been
  it. Otherwise nobody knows, and all become suspects.
]]
--- @include "chunk"
--- @include "fields"
--- @include "jobs"
--- @include "marks"
--- @include "suspects"

-- Those of a set's fields that had begun alone: field -> entry.
local function begun_of(P, queue, fields)
  local key, begun = P .. 'suspects:' .. queue, {}
  if redis.call('EXISTS', key) == 0 then
    return begun
  end
  for _, field in ipairs(fields) do
    local entry = redis.call('HGET', key, token_of(field))
    begun[field] = entry and select(2, parse_suspect(entry)) and entry or nil
  end
  return begun
end

-- How many were convicted once too often, and are on the failed list.
local n_crashed = 0

-- The same, and it was its fault. Is it still to be put back? Otherwise it is no longer in the set.
local function convict(P, worker, queue, set, field, entry, why)
  local most, token = max_crashes(P, queue), token_of(field)
  local deaths, lives = parse_suspect(entry) + 1, true
  local told = why == DIED and 'its worker died %s while it ran alone' or 'its lease lapsed %s while it was a suspect'
  if redis.call('HEXISTS', P .. 'marks:' .. worker, token) == 1 then -- it is dropped anyway
    pardon(P, queue, field, entry)
    return true
  end
  acquit(P, queue, token)
  if is_job_field(field) then
    local job = Jobs.read_or_fail(P, queue, redis.call('HGET', set, field), token, worker)
    lives = job and (most == 0 or Jobs.count_crash(P, job, worker, token, most, why, told))
    n_crashed = n_crashed + (job and not lives and 1 or 0)
  elseif most > 0 and deaths >= most then
    told = string.format(told, deaths == 1 and 'once' or deaths .. ' times')
    Failed.add(P, queue, now_ms(), token, worker, 'crashed', told, redis.call('HGET', set, field))
    lives, n_crashed = false, n_crashed + 1
  elseif most > 0 then
    redis.call('HSET', P .. 'suspects:' .. queue, token, deaths)
  end
  if not lives then
    redis.call('HDEL', set, field)
  end
  return lives
end

-- Nobody knows which one it was.
local function suspect_all(P, queue, fields)
  local key = P .. 'suspects:' .. queue
  if #fields == 0 or max_crashes(P, queue) == 0 then
    return
  end
  local is_new = redis.call('EXISTS', key) == 0
  for from = 1, #fields, CHUNK do
    local tokens, args = {}, {}
    for i = from, math.min(from + CHUNK - 1, #fields) do
      tokens[#tokens + 1] = token_of(fields[i])
    end
    local entries = is_new and {} or redis.call('HMGET', key, unpack(tokens))
    for i, token in ipairs(tokens) do
      if not entries[i] then
        args[#args + 1] = token
        args[#args + 1] = '0'
      end
    end
    if #args > 0 then
      redis.call('HSET', key, unpack(args))
    end
  end
end

-- A worker's life ended. `sets`: {queue, key, fields, begun} each. `died` false: it was stopped, which is nobody's
-- fault. Takes the fields out of the sets' lists that are not to be put back.
local function blame(P, worker, sets, died)
  local is_known = false
  for _, set in ipairs(sets) do
    is_known = is_known or next(set.begun) ~= nil
    if died and #set.fields > 0 then
      Jobs.count(P, set, 'died', nil, nil, #set.fields)
    end
  end
  for _, set in ipairs(sets) do
    local kept = {}
    for _, field in ipairs(set.fields) do
      local entry = set.begun[field]
      if entry and not died then
        pardon(P, set.queue, field, entry)
      end
      if not entry or not died or convict(P, worker, set.queue, set.key, field, entry, DIED) then
        kept[#kept + 1] = field
      end
    end
    set.fields = kept
    if died and not is_known then
      suspect_all(P, set.queue, kept)
    end
  end
end
