--[[
  Suspects: processes that may have killed a worker. A death says nothing of what had not begun, and little of what ran
  beside the culprit. So all that a dead worker held become suspects, and a suspect runs alone: the next death beside it
  counts against it, and against nothing else. P:suspects:<q> has token -> "<n>", the deaths counted; "<n>b": it has
  begun, alone. Of a job the record has the count and the suspicion; its token is here only while it runs alone, and
  from the death of its holder until it is back at its place.
]]
--- @include "fields"
--- @include "try"
--- @include "whole"

-- What became of a suspect's holder.
local DIED, LAPSED = 'the worker that held it died', 'its lease lapsed'

-- The queue's limit of deaths; 0: no limit, and nothing of it is suspected.
local function max_crashes(P, queue)
  return whole((try('HGET', P .. 'queue:' .. queue, 'max_crashes')))
    or whole((try('HGET', P .. 'config', 'max_crashes'))) or SETTING_MAX_CRASHES
end

-- A process is a suspect no more.
local function acquit(P, queue, token)
  redis.call('HDEL', P .. 'suspects:' .. queue, token)
end

-- The deaths in an entry; and has it begun?
local function parse_suspect(entry)
  return tonumber(string.match(entry, '^%d+')) or 0, string.sub(entry, -1) == 'b'
end

-- A suspect begins, and nothing runs beside it.
local function begin_suspect(P, queue, token)
  local entry = redis.call('HGET', P .. 'suspects:' .. queue, token)
  redis.call('HSET', P .. 'suspects:' .. queue, token, (parse_suspect(entry or '0')) .. 'b')
end

-- It has not begun any more.
local function unbegin_suspect(P, queue, token, entry)
  redis.call('HSET', P .. 'suspects:' .. queue, token, (parse_suspect(entry)))
end

-- The same of a field: it comes back, and it was not its fault; or it does not begin after all.
local function pardon(P, queue, field, entry)
  if is_job_field(field) then
    acquit(P, queue, token_of(field)) -- its record says that it is a suspect
  else
    unbegin_suspect(P, queue, field, entry)
  end
end
