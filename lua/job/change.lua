--[[
  change: change a job's queue, priority, time, retries, dependencies, tags, tracking, interval or data; or add a line
  to its history.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] id
    ARGV[2...] what and value, pairs: "queue" name, "priority" number, "tag" tag, "untag" tag, "after" id, "after_end"
      id, "after_failure" id, "not_after" id, of each of these, "not_after_all" "", "track" "1" or "0", "log" text,
      "every" ms, "data" bytes; when it is ready:
      "delay" ms from now, or "at" Unix time in ms; fields of its record: "retries", "limit", "backoff", "backoff_max",
      "backoff_kind", "jitter", "overlap", "key" ("": none), and of a schedule "cron", "zone", "ticks", "last",
      "final"; with these "was_cron" and "was_zone", for which the ticks were computed; "may_be_missing" "1": so may
      those of "after"; "only_if" state: change it only if it is in this state, or in another one that is given;
      "only_queue" name, "only_put" ms: only if it is in this queue, and was put then
  Returns {0}; {E_NOT_FOUND} if there is no such job, or not the one that was put then; {E_STATE, what it is} if a job in
  this state cannot be changed so, or if it is a unique task; {E_STATE, its state, "only_if"} if it is in another state
  or queue than those; {E_STATE, its state, "was"} if it has another schedule by now;
  {E_NOT_FOUND, "after", id} if there is no job of an id that it is to wait for;
  {E_NOT_FOUND, "after_failure", id} and {E_STATE, id, "will not fail"} if it is to wait for the failure of a job
  that is not there, or is complete; {E_INVALID, id} if it would wait for itself, or for a recurring job;
  {E_TOO_BIG} for too many tags or dependencies, {E_TOO_BIG, id} if too many jobs are tied together to see whether it
  would wait for itself; {E_REDIS, key} for a key of the wrong type, or for a record that cannot be read. All changes are
  made, or none.
  Writes the job's record, history, tags and dependencies, and the indexes that it leaves and enters.
  Publishes to the worker that gets it, and to those who listen. O(log n, and the jobs that it waits for).
]]
--- @include "jobs"
--- @include "circle"
--- @include "available"
--- @include "parents"

local P, id = KEYS[1], ARGV[1]
local TAGS_MAX, AFTER_MAX = 100, 1000
local job = Jobs.read(P, id)
if not job then
  return {redis.call('EXISTS', P .. 'job:' .. id) == 1 and E_REDIS or E_NOT_FOUND, P .. 'job:' .. id}
end

if job.unique then
  return {E_STATE, 'a unique task'}
end

if Jobs.is_cancelled_now(P, job) then
  return {E_NOT_FOUND, P .. 'job:' .. id}
end

-- A job that came back waits, though its record does not say so yet.
if job.state == 'running' and Jobs.are_sound(P, job.queue) and redis.call('EXISTS', P .. 'returned:' .. job.queue) == 1
  and Jobs.can_take_away(P, job) and Jobs.can_depend(P, id, {}) then
  redis.call('HSET', P .. 'job:' .. id, 'queue', job.queue) -- needs memory: a full Redis refuses the whole call here
  if Jobs.leave_home(P, job) then
    Jobs.give_back(P, job, 'given-back')
  end
end

local queue, after = nil, {}
local is_movable = job.state == 'scheduled' or job.state == 'depends' or job.state == 'waiting'
  or job.state == 'held' or job.state == 'recurring'
local is_timed, may_run = is_movable and job.state ~= 'recurring', job.state ~= 'complete'
local recurs = job.state == 'recurring'
-- Is this change possible in the job's state? A change that is absent here is possible in all states.
local depends = job.state == 'depends'
local fits = {queue = is_movable, key = is_movable, after = depends, after_end = depends, after_failure = depends,
  not_after = depends, not_after_all = depends, every = recurs and not job.cron, cron = recurs and job.cron ~= nil,
  overlap = recurs, delay = is_timed, at = is_timed,
  retries = may_run, limit = may_run, backoff = may_run}
local KIND_OF = {after = '', after_end = '\ne', after_failure = '\nf'} -- include job_dependencies
local due_ms, wanted, is_wanted, must_exist = nil, false, false, true
for i = 2, #ARGV, 2 do
  local what, value = ARGV[i], ARGV[i + 1]
  if what == 'only_if' then
    wanted, is_wanted = true, is_wanted or value == job.state
  elseif what == 'only_queue' and value ~= job.queue then
    return {E_STATE, job.state, 'only_if'}
  elseif what == 'only_put' and tonumber(value) ~= tonumber(job.put) then
    return {E_NOT_FOUND, P .. 'job:' .. id}
  elseif what == 'queue' then
    queue = value
  elseif KIND_OF[what] then
    after[#after + 1] = value .. KIND_OF[what]
  elseif what == 'may_be_missing' then
    must_exist = false
  elseif what == 'delay' then
    due_ms = now_ms() + tonumber(value)
  elseif what == 'at' then
    due_ms = tonumber(value)
  end
end
if wanted and not is_wanted then
  return {E_STATE, job.state, 'only_if'}
end
for i = 2, #ARGV, 2 do
  if fits[ARGV[i]] == false then
    return {E_STATE, job.state}
  elseif (ARGV[i] == 'was_cron' and ARGV[i + 1] ~= job.cron) or (ARGV[i] == 'was_zone' and ARGV[i + 1] ~= job.zone) then
    return {E_STATE, job.state, 'was'}
  end
end
if not Jobs.are_sound(P, job.queue) or (queue and not Jobs.are_sound(P, queue))
    or not Jobs.can_depend(P, id, after) or (recurs and not has_type('ZCARD', P .. 'crons')) then
  return {E_REDIS, damaged}
end

-- How many members a set will have after the changes. `adds` has the names of the changes that add one; `take` is that
-- which removes one.
local function size_after(members, adds, take)
  local has, n = {}, 0
  local function note(member, is_in)
    n = n + ((has[member] and -1 or 0) + (is_in and 1 or 0))
    has[member] = is_in
  end
  for _, member in ipairs(members) do
    note(member, true)
  end
  for i = 2, #ARGV, 2 do
    local what, value = ARGV[i], ARGV[i + 1]
    if adds[what] or what == take then
      note(value, what ~= take)
    elseif what == take .. '_all' then
      has, n = {}, 0
    end
  end
  return n
end

local tags = {}
for tag in string.gmatch(job.tags or '', '[^\n]+') do
  tags[#tags + 1] = tag
end
local waits_for = ids_of_names(redis.call('SMEMBERS', P .. 'dependencies:' .. id))
if size_after(tags, {tag = true}, 'untag') > TAGS_MAX or size_after(waits_for, KIND_OF, 'not_after') > AFTER_MAX then
  return {E_TOO_BIG}
end
local obstacle = obstacle_to_wait(P, id, after, nil, must_exist)
if obstacle and obstacle[1] == E_STATE then
  return {E_STATE, obstacle[3], obstacle[2]}
elseif obstacle then
  return obstacle
end

redis.call('HSET', P .. 'job:' .. id, 'queue', job.queue) -- needs memory: a full Redis refuses the whole call here

local is_to_wait_anew = false

local parents -- once they are to be changed

-- The job waits for another one no longer, in no way.
local function forget_parent(on)
  parents = parents or read_parents(job.parents)
  remove_parent(parents, on)
  Jobs.stop_waiting_for(P, id, on)
end

-- The job waits for another one in this way, and in no other.
local function wait_for(on, kind)
  forget_parent(on)
  add_parent(parents, on, kind)
  if Jobs.is_open(P, on, kind) then
    Jobs.add_dependency(P, job, on .. kind)
  end
end

-- The job keeps its place, so it is before those of the new priority that came to wait later.
local function set_priority(value)
  Jobs.set(job, 'priority', value)
  if Jobs.is_keyed(job) and job.state ~= 'running' then
    is_to_wait_anew = true
  elseif job.state == 'waiting' then
    redis.call('ZADD', Jobs.index(P, 'waiting', job.queue), 'XX', value, Jobs.member(job))
  end
end

local apply = {
  priority = set_priority,
  key = function(value)
    Jobs.set(job, 'key', value ~= '' and value or nil)
    is_to_wait_anew = job.state == 'waiting' or job.state == 'held'
  end,
  retries = function(value) Jobs.set(job, 'retries', value) end,
  limit = function(value) Jobs.set(job, 'limit', value) end,
  backoff = function(value) Jobs.set(job, 'backoff', value) end,
  backoff_max = function(value) Jobs.set(job, 'backoff_max', value) end,
  backoff_kind = function(value) Jobs.set(job, 'backoff_kind', value) end,
  jitter = function(value) Jobs.set(job, 'jitter', value) end,
  data = function(value) Jobs.set(job, 'data', value) end,
  every = function(value) Jobs.set(job, 'every', value) end,
  overlap = function(value) Jobs.set(job, 'overlap', value) end,
  tag = function(value) Jobs.tag(P, job, value) end,
  untag = function(value) Jobs.untag(P, job, value) end,
  after = function(value) wait_for(value, '') end,
  after_end = function(value) wait_for(value, '\ne') end,
  after_failure = function(value) wait_for(value, '\nf') end,
  not_after = forget_parent,
  not_after_all = function()
    for _, on in ipairs(ids_of_names(try('SMEMBERS', P .. 'dependencies:' .. id) or {})) do
      forget_parent(on)
    end
  end,
  track = function(value)
    Jobs.track(P, job, value == '1')
    Jobs.publish_event(P, job, now_ms(), value == '1' and 'tracked' or 'untracked')
  end,
  log = function(value) Jobs.log_event(P, job, 'log', value) end,
}
local OF_SCHEDULE = {cron = true, zone = true, ticks = true, last = true, final = true}
local schedule = {cron = job.cron, zone = job.zone, from = job.from}
for i = 2, #ARGV, 2 do
  if apply[ARGV[i]] then
    apply[ARGV[i]](ARGV[i + 1])
  elseif OF_SCHEDULE[ARGV[i]] then
    schedule[ARGV[i]] = ARGV[i + 1] ~= '' and ARGV[i + 1] or nil
  end
end
if parents then
  Jobs.set(job, 'parents', parents_text(parents))
end
local is_rescheduled = schedule.ticks and not Jobs.recur.has_times(job, schedule)
for field in pairs(is_rescheduled and OF_SCHEDULE or {}) do
  Jobs.set(job, field, schedule[field])
end
if is_rescheduled then
  Jobs.set(job, 'settled', nil)
end
if is_rescheduled or job.changed.overlap then -- when the job makes the next one
  Jobs.retime(P, job)
end

-- A time that has come is none. A job that waits for others keeps its time until they let it go.
local is_later = due_ms and due_ms > now_ms()
if due_ms and job.state == 'depends' then
  Jobs.set(job, 'due', is_later and string.format('%.0f', due_ms) or nil)
end
local due, from = due_ms or Jobs.number(job, 'due'), job.queue
if queue and queue ~= from and job.state == 'recurring' then
  Jobs.leave_queue(P, job)
  Jobs.set(job, 'queue', queue)
  Jobs.start_recurring(P, job, Jobs.number(job, 'due'), 'moved', from)
elseif queue and queue ~= from then
  Jobs.leave_queue(P, job)
  Jobs.set(job, 'queue', queue)
  Jobs.arrive(P, job, due, {}, 'moved', from)
elseif is_later and job.state ~= 'depends' then
  Jobs.schedule(P, job, due, 'scheduled')
elseif due_ms and job.state == 'scheduled' then
  Jobs.wait(P, job, 'ready')
elseif job.state == 'depends' and try('SCARD', P .. 'dependencies:' .. id) == 0 then
  Jobs.ready(P, job)
else
  if is_to_wait_anew then
    Jobs.wait_anew(P, job)
  else
    Jobs.save(P, job)
  end
  Jobs.publish_event(P, job, now_ms(), 'changed')
end
hand_over_jobs(P)
return {0}
