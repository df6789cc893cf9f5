--[[
  check_job: are jobs where their records say that they are?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2...] ids, of jobs or of what may be left of them
  Returns {0, the highest of their places or 0, then for each find: its key, what is wrong, 1 if it was repaired}. A
  key of the wrong type is a find of its own: what can be read is looked at all the same.
  Repairs the record, its index, its entry on the failed list, its tags, its dependencies; removes what is left of a job
  that is gone. Publishes to the workers that get jobs, and to those who listen.
  O(jobs, their tags, and the jobs that they wait for).
]]
--- @include "finds"
--- @include "drawn"
--- @include "jobs"
--- @include "available"
--- @include "where"
--- @include "returned"
--- @include "whole"

local P, args = KEYS[1], ARGV
local queue_at_hand -- of the job at hand; nil: what is left of it is in no queue
local check = new_check(P, ARGV[1], function()
  return not queue_at_hand or Jobs.are_sound(P, queue_at_hand)
end)

local function look_for_remains(id)
  local history, dependencies = P .. 'history:' .. id, P .. 'dependencies:' .. id
  if (try('LLEN', history) or 0) > 0 then
    note_find(check, history, 'is the history of no job', function()
      redis.call('DEL', history)
      return 'removed it'
    end)
  end
  if (try('SCARD', dependencies) or 0) > 0 then
    note_find(check, dependencies, 'lists dependencies, but there is no such job', function()
      Jobs.remove_dependencies(P, id)
      return 'removed it'
    end)
  end
end

-- A record without state and data is no job: removing it loses nothing.
local function look_at_unreadable(id, lacks)
  local key = P .. 'job:' .. id
  local what = "is a record without a valid '" .. lacks .. "'"
  if lacks ~= 'state' or redis.call('HEXISTS', key, 'state') + redis.call('HEXISTS', key, 'data') > 0 then
    note_find(check, key, what .. '; look at it with HGETALL, and set it or remove it')
    return
  end
  note_find(check, key, what .. ', and without data', function()
    Jobs.remove_dependencies(P, id)
    redis.call('DEL', key, P .. 'history:' .. id)
    return 'removed it'
  end)
end

-- Where the set has the wrong type, nobody knows: then the job counts as held. One that came back, or that a worker is
-- about to take up, is in a home.
local function is_in_hands(job)
  local field = job.worker and job.token and 'j' .. job.token
  for _, key in ipairs(field and keys_of_holder(P, job.worker, job.queue) or {}) do
    local id = try('HGET', key, field)
    if id == nil or id == job.id then
      return true
    end
  end
  local n = try('ZCARD', P .. 'returned:' .. job.queue)
  return field and (n == nil or (n > 0 and returned_member(P, job.queue, field) ~= nil))
end

-- The job goes back to where it waited. If it was cancelled, it is dropped instead: its mark would be lost.
local function take_back(job)
  local marks, notes = P .. 'marks:' .. (job.worker or ''), P .. 'notes:' .. (job.worker or '')
  local obstacle = not try('HLEN', marks) and marks or not try('HLEN', notes) and notes
  if obstacle then
    return nil, obstacle
  end
  local record = Jobs.read(P, job.id)
  if job.worker and job.token and unmark(P, job.worker, job.token) then
    Jobs.cancel(P, record, job.worker)
    return 'dropped it, because it was cancelled'
  end
  Jobs.give_back(P, record, 'given-back')
  return 'it waits again, where it did'
end

-- What its score in the index should be; nil where the score does not matter, or where its record says none.
local function meant_score(job)
  if job.state == 'waiting' or job.state == 'held' then
    return Jobs.number(job, 'priority')
  elseif job.state == 'scheduled' or job.state == 'recurring' then
    local due = Jobs.number(job, 'due')
    return due ~= 0 and due or nil
  end
end

-- Somebody may have damaged the record by hand: so the fields of other states go, and the queue's name is noted.
local function enter_index(job, index, score)
  local member = member_of(job)
  try('ZADD', P .. 'names', 'NX', now_ms(), job.queue)
  if job.state ~= 'running' then
    redis.call('HDEL', P .. 'job:' .. job.id, 'worker', 'token')
  end
  if job.priority and tonumber(job.priority) ~= Jobs.number(job, 'priority') then -- it is none: 0 counts
    redis.call('HDEL', P .. 'job:' .. job.id, 'priority')
  end
  if not job.round then -- or it is none
    redis.call('HDEL', P .. 'job:' .. job.id, 'round')
  end
  if job.state == 'scheduled' or job.state == 'recurring' then
    redis.call('HSET', P .. 'job:' .. job.id, 'due', string.format('%.0f', score))
    redis.call('ZADD', index, score, member)
    note_due(P, job.queue, score)
    return
  end
  redis.call('ZADD', index, score, member)
  if job.state == 'waiting' then
    redis.call('HSET', P .. 'queue:' .. job.queue, 'jobs', '1')
    touched_by_jobs[job.queue] = true
  end
end

local function look_at_index(job)
  local index = Jobs.index(P, job.state, job.queue)
  local found, meant = try('ZSCORE', index, member_of(job)), meant_score(job)
  if found == nil then
    return -- the index has a wrong type: nobody knows
  end
  local score = tonumber(found or nil)
  local is_timed = job.state == 'scheduled' or job.state == 'recurring'
  local what = not score and 'is not in ' .. index
    or is_timed and not meant and 'does not say when it is due'
    or meant and meant ~= score and 'is in ' .. index .. ' with another score than it says'
  if what then
    note_find(check, P .. 'job:' .. job.id, what, function()
      local at = score and math.abs(score) < 2 ^ 53 and score
      enter_index(job, index, meant or at or now_ms())
      return 'put it right'
    end)
  end
end

local function is_on_failed_list(job)
  local at = string.match(job.entry or '', '^%d+$')
  local members = at and try('ZRANGEBYSCORE', P .. 'failed:' .. job.queue, at, at) or {}
  if not try('ZCARD', P .. 'failed:' .. job.queue) then
    return true -- nobody knows
  end
  for _, member in ipairs(members) do
    if Failed.job_of(member) == job.id then
      return true
    end
  end
end

local function look_at_failure(job)
  if is_on_failed_list(job) then
    return
  end
  local list = P .. 'failed:' .. job.queue
  note_find(check, P .. 'job:' .. job.id, 'has failed, but is not in ' .. list, function()
    local record = Jobs.read(P, job.id)
    Jobs.set(record, 'entry', Failed.draw_entry(P))
    Jobs.save(P, record)
    Failed.add(P, job.queue, now_ms(), job.place, '', record.group or 'failed', record.message or '', job.id,
      record.entry)
    return 'put it there'
  end)
end

-- Ticks that are not known, or are damaged, are computed by the timer's keeper: it is to be asked to.
local function look_at_ticks(job)
  local key, first = P .. 'job:' .. job.id, string.match(job.ticks or '', '^%d+')
  if not whole(job.last) then
    note_find(check, key, 'does not say up to when the ticks of its schedule are dealt with', function()
      redis.call('HSET', key, 'last', string.format('%.0f', now_ms()))
      return 'they are, up to now'
    end)
  end
  local waits = job.queued or (first and tonumber(first) <= now_ms() and job.backlog) -- for more ticks, or an end
  if (first and first ~= job.due and not waits) or (not first and (job.ticks or '') ~= '') then
    note_find(check, key, 'is not due at the next tick of its schedule', function()
      if not first then
        redis.call('HDEL', key, 'ticks')
      end
      Jobs.retime(P, Jobs.read(P, job.id))
      return 'it is now'
    end)
  end
end

local function look_at_schedule(job)
  local crons, due = P .. 'crons', P .. 'due'
  look_at_ticks(job)
  local asked = try('ZSCORE', crons, job.id)
  if job.final ~= '1' and asked == false then
    local what = 'is not in ' .. crons .. ', so nobody would compute its next ticks'
    note_find(check, P .. 'job:' .. job.id, what, function()
      Jobs.recur.note_refill(P, Jobs.read(P, job.id), 0)
      return 'put it there'
    end)
  end
  local at, known = tonumber(asked or nil), try('ZSCORE', due, '')
  if at and known ~= nil and (tonumber(known or nil) or math.huge) > at then
    note_find(check, due, "has the schedule of '" .. job.id .. "' too late or not at all", function()
      Jobs.batches.note_due(P, at)
      return 'put right'
    end)
  end
end

local function look_at_state(job)
  if job.state == 'failed' then
    look_at_failure(job)
  elseif job.state == 'running' and not is_in_hands(job) then
    note_find(check, P .. 'job:' .. job.id, 'is running, but in no hands', function()
      return take_back(job)
    end)
  else
    look_at_index(job)
  end
  if job.state == 'recurring' and job.cron then
    look_at_schedule(job)
  elseif job.state == 'recurring' and not whole(job.every) then
    note_find(check, P .. 'job:' .. job.id, 'recurs without an interval; give it one, or cancel it')
  end
end

-- A job of a key is counted where it waits, is held or runs. One without a key has nothing to be held by.
local function look_at_key(job)
  if job.state == 'held' and not job.key then
    note_find(check, P .. 'job:' .. job.id, 'is held, but has no key', function()
      Jobs.wait_anew(P, Jobs.read(P, job.id))
      return 'it waits'
    end)
  elseif Jobs.is_keyed(job) then
    local keyed, member = P .. 'keyed:' .. job.queue, Jobs.keys.member(job, job.state)
    local score = try('ZSCORE', keyed, member)
    if score ~= nil and score ~= '0' then
      note_find(check, P .. 'job:' .. job.id, 'is not among the jobs of its key in ' .. keyed, function()
        redis.call('ZADD', keyed, 0, member)
        Jobs.keys.settle(P, job.queue, job.key or '')
        return 'put it there'
      end)
    end
  end
end

local function look_at_lists(job)
  local missing = {}
  for tag in string.gmatch(job.tags or '', '[^\n]+') do
    missing[#missing + 1] = try('ZSCORE', P .. 'tag:' .. tag, job.id) == false and tag or nil
  end
  if #missing > 0 then
    note_find(check, P .. 'job:' .. job.id, 'is not listed under ' .. plural(#missing, 'tag') .. ' of its own',
    function()
      local put = redis.call('HGET', P .. 'job:' .. job.id, 'put')
      for _, tag in ipairs(missing) do
        redis.call('ZADD', P .. 'tag:' .. tag, whole(put) or now_ms(), job.id)
        try('ZINCRBY', P .. 'tags', 1, tag)
      end
      return 'listed it'
    end)
  end
  if job.tracked == '1' and try('ZSCORE', P .. 'tracked', job.id) == false then
    note_find(check, P .. 'job:' .. job.id, 'is tracked, but not listed in ' .. P .. 'tracked', function()
      redis.call('ZADD', P .. 'tracked', now_ms(), job.id)
      return 'listed it'
    end)
  end
end

-- A member of a batch that has not ended is listed there, as long as the batch is there.
local function look_at_batch(job)
  local is_over = Jobs.is_over(job) or job.state == 'recurring'
  local batch = not is_over and job.batch and Jobs.batches.named(P, job.batch)
  if batch and try('ZSCORE', P .. 'members:' .. batch.id, 'j' .. job.id) == false then
    note_find(check, P .. 'job:' .. job.id, "is a member of the batch '" .. batch.id .. "', which does not list it",
    function()
      Jobs.batches.member_began(P, job.batch, 'j' .. job.id)
      return 'listed it'
    end)
  end
end

-- Of the names of what it waits for: those that have come, or whose job is not there; those that can never come; and
-- those whose job does not list it. A job that has ended and is to let it go yet is none of these.
local function sort_dependencies(id, dependencies)
  local met, vain, one_way = {}, {}, {}
  for _, name in ipairs(dependencies) do
    local on, kind = Jobs.parse_name(name)
    local is_open, state = Jobs.is_open(P, on, kind)
    local is_over = not is_open and (state or (state == false and redis.call('EXISTS', P .. 'job:' .. on) == 0))
    if is_open or not Jobs.is_to_go(P, id, name) then
      local list, member = Jobs.other_side(P, id, name)
      if is_over and kind == '\nf' and state ~= 'failed' then
        vain[#vain + 1] = name
      elseif is_over then
        met[#met + 1] = name
      elseif try('ZSCORE', list, member) == false then
        one_way[#one_way + 1] = name
      end
    end
  end
  return met, vain, one_way
end

-- Nobody knows what became of those that it was to follow, so it is not cancelled, but goes where people see it.
local function look_at_vain(job, vain)
  local on = Jobs.parse_name(vain[1])
  local what = "waits for the failure of '" .. on .. "', which is complete or gone"
  note_find(check, P .. 'job:' .. job.id, what, function()
    local record = Jobs.read(P, job.id)
    Jobs.remove_dependencies(P, job.id)
    Jobs.fail(P, record, '', record.place, 'dependency', "the job '" .. on .. "' that was to fail is complete or gone")
    return 'it has failed'
  end)
end

local function look_at_dependencies(job)
  local key, dependencies = P .. 'job:' .. job.id, try('SMEMBERS', P .. 'dependencies:' .. job.id)
  if not dependencies or (job.state ~= 'depends' and #dependencies == 0) then
    return
  end
  if job.state ~= 'depends' then
    local what = 'lists dependencies, but its job no longer waits for any'
    note_find(check, P .. 'dependencies:' .. job.id, what, function()
      Jobs.remove_dependencies(P, job.id)
      return 'removed it'
    end)
    return
  end
  if Jobs.is_doomed(P, job.id, job.place) then
    return
  end
  local met, vain, one_way = sort_dependencies(job.id, dependencies)
  if #vain > 0 then
    return look_at_vain(job, vain)
  end
  if #one_way > 0 then
    note_find(check, key, 'waits for ' .. plural(#one_way, 'job') .. ' without being noted there', function()
      for _, name in ipairs(one_way) do
        Jobs.add_dependency(P, job, name)
      end
      return 'noted it there'
    end)
  end
  if #met > 0 or #dependencies == 0 then
    local what = #met > 0 and plural(#met, 'job') .. ', which let it go or are gone' or 'nothing'
    note_find(check, key, 'waits for ' .. what, function()
      for _, name in ipairs(met) do
        Jobs.remove_dependency(P, job.id, name)
      end
      if #met == #dependencies then
        Jobs.ready(P, Jobs.read(P, job.id))
      end
      return 'no longer waits for that'
    end)
  end
end

local highest, newest = highest_drawn(P), 0
for i = 2, #args do
  local job, lacks = where_is(P, args[i])
  queue_at_hand = job and job.queue or nil
  if job == false then
    look_for_remains(args[i])
  elseif not job and lacks ~= 'type' then
    look_at_unreadable(args[i], lacks)
  elseif job then
    newest = math.max(newest, drawn_number(job.place, highest) or 0)
    look_at_state(job)
    look_at_key(where_is(P, args[i]) or {})
    look_at_lists(job)
    look_at_batch(job)
    look_at_dependencies(job)
  end
end
hand_over_jobs(P)
if newest > 0 then
  check.answer[2] = token_text(newest)
end
return check.answer
