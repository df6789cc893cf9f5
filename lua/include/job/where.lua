--[[
  Where a job is, by its record alone: for checks whether an index, a set or a list is right about it.
]]
--- @include "try"
--- @include "token"
--- @include "round"

local IS_STATE = {scheduled = true, depends = true, waiting = true, held = true, running = true, complete = true,
  recurring = true, failed = true}
-- The fields to read: not its data, which may be large.
local FIELDS = {'queue', 'state', 'place', 'worker', 'token', 'entry', 'due', 'priority', 'every', 'tags', 'tracked',
  'batch', 'key', 'cron', 'ticks', 'last', 'final', 'queued', 'backlog',
  'round'}

-- These fields, as far as they are there, and the id; false if there is no such job; nil, and what the record lacks, if
-- it cannot be read.
local function where_is(P, id)
  local values = try('HMGET', P .. 'job:' .. id, unpack(FIELDS))
  if not values then
    return nil, 'type'
  end
  local job = {id = id}
  for i, field in ipairs(FIELDS) do
    job[field] = values[i] or nil
  end
  job.round = round_of(job.round)
  if not (job.queue or job.state) and redis.call('EXISTS', P .. 'job:' .. id) == 0 then
    return false
  end
  local lacks = not IS_STATE[job.state or ''] and 'state' or not job.queue and 'queue'
    or not (job.place and #job.place == TOKEN_LEN) and 'place'
  if lacks then
    return nil, lacks
  end
  return job
end
