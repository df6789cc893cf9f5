--[[
  New jobs, and jobs that come into a queue. A piece of jobs.
]]
--- @within "jobs"

-- A job that is in no index comes into its queue: it depends, is scheduled, or waits.
function Jobs.arrive(P, job, due_ms, after, what, text)
  if due_ms > 0 or job.due then
    Jobs.set(job, 'due', due_ms > now_ms() and string.format('%.0f', due_ms) or nil)
  end
  local open = {}
  for _, name in ipairs(after) do
    local id, kind = parse_name(name)
    open[#open + 1] = id ~= job.id and Jobs.is_open(P, id, kind) and name or nil
  end
  if #after > 0 then
    local lines, is_there = {}, {}
    for _, name in ipairs(after) do
      lines[#lines + 1] = not is_there[name] and string.gsub(name, '\n', '\t') or nil
      is_there[name] = true
    end
    Jobs.set(job, 'parents', table.concat(lines, '\n'))
  end
  if not job.is_new or job.unique then -- others are counted together
    Jobs.count(P, job, 'put')
  end
  note_name(P, job.queue)
  local dependencies = P .. 'dependencies:' .. job.id
  local is_free = job.is_new or was_absent(dependencies)
  if #open > 0 or (not is_free and (try('SCARD', dependencies) or 0) > 0) then
    Jobs.depend(P, job, open, what, text)
  else
    Jobs.ready(P, job, what, text)
  end
end

-- The record of a new job, in no state yet. `given`: fields of the record. `is_new`: no key of this id is there, and
-- the caller counts that it was put.
local function new_record(P, id, queue, given, tags, at_ms, is_new)
  local job = {id = id, queue = queue, changed = {queue = queue}, is_new = is_new}
  if not Jobs.places then -- to draw them has needed memory, too
    redis.call('HSET', P .. 'job:' .. id, 'queue', queue) -- needs memory: a full Redis refuses the whole call here
  end
  if not is_new and not was_absent(P .. 'history:' .. id) then
    redis.call('DEL', P .. 'history:' .. id)
  end
  for field, value in pairs(given) do
    job[field], job.changed[field] = value, value
  end
  Jobs.set(job, 'put', at_ms and string.format('%.0f', at_ms) or now_text())
  job.told_at = at_ms -- its history begins at this time
  for _, tag in ipairs(tags) do
    Jobs.tag(P, job, tag)
  end
  if given.tracked then
    Jobs.track(P, job, true)
  end
  return job
end

-- Makes a new job, which comes into its queue.
function Jobs.make(P, id, queue, given, tags, due_ms, after, at_ms, is_new)
  Jobs.arrive(P, new_record(P, id, queue, given, tags, at_ms, is_new), due_ms, after, 'put', '')
end

-- Returns a function that makes one of many new jobs which only wait: spec = {id, first, last, priority}, whose fields
-- are args[first..last]. `new` are fields of all of them. Places are drawn, and moves gathered (include `job_put`).
-- This is make() for the case that puts of many are made of, where each table and each call counts.
function Jobs.maker_of_plain(P, queue, new, args)
  local line = {'queue', queue, 'state', 'waiting', 'put', now_text(), 'since', now_text(), 'place', ''}
  local place_at = #line
  for field, value in pairs(new) do
    line[#line + 1] = field
    line[#line + 1] = value
  end
  local n_same, event, priority = #line, now_text() .. '\tput\t', number(new, 'priority')
  local index, is_heard_of = Jobs.index(P, 'waiting', queue), is_heard(namespace_settings(P)[4])
  local records, histories = P .. 'job:', P .. 'history:'
  note_name(P, queue)
  note_jobs_wait(P, queue)
  return function(spec)
    local id, place, n = spec.id, draw_place(P), n_same
    line[place_at] = place
    for i = spec.first, spec.last do
      n = n + 1
      line[n] = args[i]
    end
    redis.call('HSET', records .. id, unpack(line, 1, n))
    gather_entry(index, spec.priority and tonumber(spec.priority) or priority, place .. id)
    redis.pcall('RPUSH', histories .. id, event)
    if is_heard_of then
      Jobs.publish_event(P, {id = id, queue = queue}, now_ms(), 'put', '')
    end
  end
end
