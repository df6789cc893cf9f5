--[[
  The failed list of a queue: a zset by a token that is drawn for each failure, as a number. It is the entry's time,
  order and name in one. A member is "<token>:<length of worker>:<length of group>:<length of message>:", then these
  three and the task; its token is the process'. A failed job's member begins with "j", and has the job's id for the
  task. P:failures:<q> counts the entries of each group ("g:" + group), those that are jobs ("jobs") and the bytes of
  all ("bytes"). The oldest entries go if they are too many, too many bytes, or too old; a job's record goes with its
  entry.
]]
--- @within "jobs"
--- @include "token"
--- @include "try"
--- @include "types"

local FAILED_MAX = 10000
local FAILED_BYTES_MAX = 67108864
local FAILED_AGE_MS = 604800000
-- A call drops at most TRIM_MAX entries, and looks at a page of them.
local TRIM_MAX, FAILED_PAGE = 1000, 100

-- Group and task of an entry; nil if it is malformed.
local function parse_failed(member)
  local worker, group, message, at = string.match(member, '^%w+:(%d+):(%d+):(%d+):()')
  if at then
    local from = at + worker
    return string.sub(member, from, from + group - 1), string.sub(member, from + group + message)
  end
end

-- The id in an entry of a job; nil for an entry of a task.
local function job_of_entry(member)
  if string.byte(member) == JOB_BYTE and string.find(member, ':', 1, true) == TOKEN_LEN + 2 then
    return (select(2, parse_failed(member)))
  end
end

local function remove_failed(P, queue, member)
  local figures, group = P .. 'failures:' .. queue, parse_failed(member)
  if redis.call('ZREM', P .. 'failed:' .. queue, member) == 0 then
    return -- the trimming of another failure was first
  end
  if group and (try('HINCRBY', figures, 'g:' .. group, -1) or 1) <= 0 then
    redis.call('HDEL', figures, 'g:' .. group)
  end
  if job_of_entry(member) and (try('HINCRBY', figures, 'jobs', -1) or 1) <= 0 then
    redis.call('HDEL', figures, 'jobs')
  end
  try('HINCRBY', figures, 'bytes', -#member)
  if redis.call('EXISTS', P .. 'failed:' .. queue) == 0 then
    redis.call('DEL', figures)
  end
end

local function remove_failed_at(P, queue, entry)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', P .. 'failed:' .. queue, entry, entry)) do
    remove_failed(P, queue, member)
  end
end

-- Removes an entry for good, and its job with it. `entry` is the score.
local function forget_failed(P, queue, member, entry)
  local id = job_of_entry(member)
  if not (id and Jobs.forget_failed(P, queue, string.format('%.0f', entry), id)) then
    remove_failed(P, queue, member)
  end
end

-- Removes the oldest entries while the list is beyond its limits. The newest entry stays, whatever its size.
local function trim_failed(P, queue, now)
  local key = P .. 'failed:' .. queue
  for _ = 1, TRIM_MAX do
    local oldest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    local count = redis.call('ZCARD', key)
    local bytes = tonumber(redis.call('HGET', P .. 'failures:' .. queue, 'bytes')) or 0
    if count == 0 or (count <= FAILED_MAX and (bytes <= FAILED_BYTES_MAX or count == 1)
        and tonumber(oldest[2]) / 1000 > now - FAILED_AGE_MS) then
      return
    end
    forget_failed(P, queue, oldest[1], oldest[2])
  end
end

-- Have the keys that a failure writes the right types?
local function can_fail(P, queue)
  return have_types({'ZCARD', P .. 'failed:' .. queue, 'HLEN', P .. 'failures:' .. queue})
    and has_type('STRLEN', P .. 'token')
end

-- Draws the score of a new entry.
local function draw_entry(P)
  return string.format('%.0f', draw_tokens(P, 1))
end

-- Adds an entry. For a job, `entry` is the score, drawn before, and `task` is the job's id.
local function add_failed(P, queue, now, token, worker, group, message, task, entry)
  local member = (entry and 'j' or '') .. token .. ':' .. #worker .. ':' .. #group .. ':' .. #message .. ':'
    .. worker .. group .. message .. task
  redis.call('ZADD', P .. 'failed:' .. queue, entry or draw_entry(P), member)
  try('HINCRBY', P .. 'failures:' .. queue, 'g:' .. group, 1)
  if entry then
    try('HINCRBY', P .. 'failures:' .. queue, 'jobs', 1)
  end
  try('HINCRBY', P .. 'failures:' .. queue, 'bytes', #member)
  trim_failed(P, queue, now)
end

-- The entries with the names names[first...], each once; and how many of the names are not there.
local function failed_by_name(P, queue, names, first)
  local members, missing, named = {}, 0, {}
  for i = first, #names do
    local number = token_number(names[i])
    local at = number and string.format('%.0f', number)
    local member = at and redis.call('ZRANGEBYSCORE', P .. 'failed:' .. queue, at, at)[1]
    if member and not named[member] then
      members[#members + 1] = member
      named[member] = true
    elseif not member then
      missing = missing + 1
    end
  end
  return members, missing
end

-- Up to n entries of a group ("": of all groups), oldest first, on the page that begins at rank `from`. Returns them,
-- and the rank at which the next page begins once they are removed; -1: there are no more, or n were found.
local function failed_by_group(P, queue, group, n, from)
  local page = redis.call('ZRANGE', P .. 'failed:' .. queue, from, from + FAILED_PAGE - 1)
  local members, passed = {}, 0
  for _, member in ipairs(page) do
    if #members == n then
      break
    elseif group == '' or parse_failed(member) == group then
      members[#members + 1] = member
    else
      passed = passed + 1
    end
  end
  local is_end = #page < FAILED_PAGE or #members == n
  return members, is_end and -1 or from + passed
end

-- The entries that a call of replay or drop means: those that args names from the fifth on; otherwise up to n of a
-- group, from a place on. Returns them, and how many names were not there, or the place to go on from.
local function select_failed(P, queue, group, n, from, args)
  if #args > 4 then
    return failed_by_name(P, queue, args, 5)
  end
  return failed_by_group(P, queue, group, tonumber(n), tonumber(from))
end
