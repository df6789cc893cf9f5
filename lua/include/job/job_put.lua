--[[
  Putting jobs, for the script that puts many in a call: what a spec says, whether it may be put, and how it is put. All
  specs of a call are looked at before the first of them is put. A spec sees those before it as if they were there.

  A call is {queue, args, new, specs, of_id, waiting_for}: `args` is what specs are read from; `new` has fields of the
  records that are new, as far as a spec does not give them; `of_id` has the first spec of an id; `waiting_for` has, by
  the id of a job, the ids of those specs that are to wait for it; `batches` has those that some of them join; `is_fair`
  says that jobs which wait join rounds. A spec that may be put is `is_sound`.
]]
--- @include "jobs"
--- @include "chunk"
--- @include "try"
--- @include "types"
--- @include "write_again"

-- What a spec says several times, and where it is kept. What it says besides the fields of its record.
local LISTS = {tag = 'tags', after = 'after', after_end = 'after', after_failure = 'after'}
local KIND_OF = {after_end = '\ne', after_failure = '\nf'} -- include job_dependencies
local ASIDE = {delay = true, at = true, replace = true, may_be_missing = true}
local NONE = {} -- never changed

-- Fields that a new job may have without more to do than to write them.
local IS_PLAIN = {data = true, priority = true, retries = true, limit = true}

-- Reads what a spec says: from args[spec.first] to args[spec.last] are names and values.
local function read_fields(args, spec)
  spec.tags, spec.after, spec.given, spec.is_plain = NONE, NONE, {}, false
  for at = spec.first, spec.last, 2 do
    local name, value = args[at], args[at + 1]
    local list = LISTS[name]
    if list then
      spec[list] = spec[list] == NONE and {} or spec[list]
      table.insert(spec[list], KIND_OF[name] and value .. KIND_OF[name] or value)
    elseif ASIDE[name] then
      spec[name] = value
    else
      spec.given[name] = value
    end
  end
end

-- Reads one spec: id, names and values, then "". Returns it, and where the next one begins. Of a plain one the values
-- stay where they are: if its job is new, nobody needs them apart.
local function read_spec(args, at, n_args)
  local id = args[at]
  local spec = {id = id, tags = NONE, after = NONE, given = NONE, is_plain = id ~= '', first = at + 1}
  at = at + 1
  while at < n_args and args[at] ~= '' do
    if not IS_PLAIN[args[at]] then
      spec.is_plain = false
    elseif args[at] == 'priority' then
      spec.priority = args[at + 1]
    end
    at = at + 2
  end
  spec.last = at - 1
  if not spec.is_plain then
    read_fields(args, spec)
  end
  return spec, at + 1
end

local OWN_MAX = 8 -- keys of one job

-- Asks for the keys of many specs by one command: mostly none of them is there. Then all of these jobs are new, and no
-- key of theirs is asked for again.
local function ask_for_keys(P, specs)
  local keys, first, n_own = {}, 1, OWN_MAX
  -- Jobs that are still let go have lists, which P:ended names. Of one job its keys are asked for as cheaply.
  if #specs > 1 and has_type('ZCARD', P .. 'ended') == 0 then
    n_own = OWN_MAX - 4
  end
  for i, spec in ipairs(specs) do
    local n, id = (i - first) * n_own, spec.id
    keys[n + 1], keys[n + 2], keys[n + 3], keys[n + 4] = P .. 'job:' .. id, P .. 'dependencies:' .. id,
      P .. 'dependents:' .. id, P .. 'history:' .. id
    if n_own == OWN_MAX then
      keys[n + 5], keys[n + 6] = P .. 'freed:' .. 'd' .. id, P .. 'freed:' .. 'g' .. id
      keys[n + 7], keys[n + 8] = P .. 'freed:' .. 'e' .. id, P .. 'freed:' .. 'f' .. id
    end
    if i == #specs or n + 2 * n_own > CHUNK then
      local is_new = redis.call('EXISTS', unpack(keys)) == 0
      for k = first, is_new and i or 0 do
        specs[k].is_new = true
      end
      keys, first = {}, i + 1
    end
  end
end

-- A replacement without data keeps those of the record, also of one that is complete. Returns the refusal, if there is
-- none.
local function keep_data(spec, old)
  if spec.replace ~= '1' or spec.given.data then
    return nil
  elseif not old then
    return {E_NOT_FOUND, 'data', spec.id}
  end
  spec.given.data = old.data
end

-- Jobs of these ids that are being cancelled go here, before any record is read: others may move with them, and a batch
-- that ends by this makes jobs, which may have ids of this call.
local function let_go_cancelled(P, specs)
  local has_gone = false
  for _, spec in ipairs(specs) do
    local job = not spec.is_new and #Jobs.cancelling_lists(P) > 0 and Jobs.read_head(P, spec.id)
    has_gone = (job and Jobs.is_cancelled_now(P, job)) or has_gone
  end
  for _, spec in ipairs(has_gone and specs or NONE) do
    spec.is_new = nil
  end
end

-- Is it in somebody's hands, and any end but a finish drops it? A unique task that was cancelled, or one whose queue
-- was deleted. To say that it is there already would promise that somebody does the work.
local function is_to_be_dropped(P, job)
  return job.state == 'running' and try('HEXISTS', P .. 'marks:' .. (job.worker or ''), job.token or '') == 1
end

-- Reads the job that has the spec's id, into spec.old; is_change: it lives on and is changed. Returns why the spec
-- cannot be put, as the script answers it, but for the number of the spec; nil if nothing of this stands against it.
local function read_old(P, call, spec)
  local id = spec.id
  if call.of_id[id] ~= spec then
    return {E_EXISTS, 'twice', id}
  elseif spec.is_new then
    return not Jobs.can_wait_for(P, spec.after) and {E_REDIS, damaged} or keep_data(spec)
  end
  local key, old, is_free = P .. 'job:' .. id, Jobs.read(P, id)
  if not old and not is_free then
    return {E_REDIS, key}
  end
  if (old and not (Jobs.are_sound(P, old.queue) and Jobs.can_take_away(P, old)))
      or not Jobs.can_depend(P, id, spec.after) then
    return {E_REDIS, damaged}
  end
  if Jobs.is_ending(P, id) then -- of a unique task E_EXISTS would say that somebody does the work
    return {spec.given.unique and E_STATE or E_EXISTS, 'ending', id}
  end
  local given, is_alive = spec.given, old and not Jobs.is_over(old)
  local is_change = old and spec.replace == '1' and old.state ~= 'complete' and not old.unique
  if old and not old.unique and given.unique and old.state ~= 'complete' then
    return {E_STATE, 'no unique task', id}
  elseif is_alive and not is_change and is_to_be_dropped(P, old) then
    return {E_STATE, 'dropped', id}
  elseif is_alive and not is_change then
    write_again(key)
    return {E_EXISTS, old.unique and not given.unique and 'a unique task' or old.state, id}
  end
  spec.old, spec.is_change = old, is_change
  local goes_on = is_change and not (given.every or given.cron)
  if goes_on and ((old.cron and spec.delay) or ((old.cron or old.every) and spec.at)) then
    return {E_INVALID, id, 'timed'} -- its times are those of its schedule or interval
  end
  return keep_data(spec, old)
end

-- Whether an interval has no time up to its last one. A job that goes on recurring may keep a time that has come.
local function is_over_at_once(spec)
  local last = tonumber(spec.given['until'] or nil)
  local first = spec.is_change and 0 or tonumber(spec.at or nil) or now_ms() + (tonumber(spec.delay or nil) or 0)
  return last and last > 0 and last < math.max(now_ms(), first)
end

-- The same for what it is to wait for. A recurring job never completes: a job that waited for it would wait for ever.
local function obstacle_of(P, call, spec)
  local id, n_after = spec.id, #spec.after
  if spec.given.cron and not has_type('ZCARD', P .. 'crons') then
    return {E_REDIS, P .. 'crons'}
  end
  local recurs = spec.given.every or spec.given.cron
  if n_after == 0 and not recurs then
    spec.is_sound = true
    return nil
  end
  if n_after > 0 then
--- @include "circle"
    local obstacle = obstacle_to_wait(P, id, spec.after, call, not spec.may_be_missing)
    if obstacle then
      return obstacle
    end
  end
  if spec.given.every and is_over_at_once(spec) then
    return {E_INVALID, id, 'over'}
  end
  local is_awaited = recurs
    and (call.waiting_for[id] or redis.call('EXISTS', P .. 'dependents:' .. id, P .. 'followers:' .. id) > 0)
  if is_awaited
      or (n_after > 0 and (recurs or (spec.is_change and (spec.old.every or spec.old.cron)))) then
    return {E_INVALID, id, 'recurs'}
  end
  spec.is_sound = true
  for _, name in ipairs(spec.after) do
    local on = Jobs.parse_name(name)
    local waiting = call.waiting_for[on] or {}
    waiting[#waiting + 1] = id
    call.waiting_for[on] = waiting
  end
end

-- The same for the batch that it is to join.
local function batch_refusal_of(P, call, spec)
  if spec.given.batch or (spec.is_change and spec.old.batch) then
    local refusal
    refusal, spec.batch = Jobs.batches.meant_by_put(P, spec.given, spec.is_change and spec.old or nil, call)
    return refusal
  end
end

-- Why the spec of this number cannot be put, as the script answers it; nil if it can. Changes nothing.
local function refusal_of(P, call, number)
  local spec = call.specs[number]
  if spec.is_plain and spec.is_new and not call.is_fair and call.of_id[spec.id] == spec then
    spec.is_sound = true
    return nil
  elseif spec.is_plain then
    read_fields(call.args, spec)
  end
  local refusal = read_old(P, call, spec) or batch_refusal_of(P, call, spec) or obstacle_of(P, call, spec)
  if refusal and refusal[1] ~= E_REDIS then
    refusal[3], refusal[4] = refusal[3] or '', number
  end
  return refusal
end

-- The first tick of a schedule. The library has computed it; by now it may be over.
local function first_tick(job)
  return tonumber(string.match(job.ticks or '', '%d+') or nil)
end

-- What belongs to a schedule or an interval: another one takes the place of all of it. The same one goes on where
-- it is.
local OF_TIMES = {'every', 'cron', 'zone', 'from', 'until', 'count'}
local WHERE_IT_IS = {'ticks', 'last', 'final', 'settled'}

local IS_OF_TIMES = {}
for _, list in ipairs({OF_TIMES, WHERE_IT_IS}) do
  for _, field in ipairs(list) do
    IS_OF_TIMES[field] = true
  end
end

-- Gives a job the times of its spec, if it has any, and returns when it is to make its next job. `due`: when it is to
-- do so by its spec, or be ready; nil: that stays.
local function set_times(job, given, due)
  local recur, recurs, is_same = Jobs.recur, given.every or given.cron, Jobs.recur.has_times(job, given)
  local goes_on = is_same or not recurs
  local next_at = job.state == 'recurring' and (goes_on or (job.every and given.every)) and recur.next_time(job)
  if is_same and given.cron and job['until'] ~= given['until'] then
    recur.set_until(job, given)
  end
  for _, field in ipairs(not goes_on and WHERE_IT_IS or {}) do
    Jobs.set(job, field, given[field])
  end
  for _, field in ipairs(recurs and OF_TIMES or {}) do
    Jobs.set(job, field, given[field])
  end
  if not goes_on and job.cron then
    return first_tick(job)
  end
  return due or next_at or math.max(now_ms(), Jobs.number(job, 'due'))
end

-- The holder of a job loses it, or the job was left to itself: it is tried anew.
local OF_TRIES = {'retried', 'crashes', 'suspect', 'group', 'message'}
local IN_PLACE = 'in place' -- tells in its history that it has come from nowhere
local STAYS = {scheduled = true, depends = true, waiting = true, held = true}

-- Writes what a spec says into the record of the job that it changes.
local function write_given(P, job, spec)
  local given = spec.given
  for field, value in pairs(given) do
    if not IS_OF_TIMES[field] then
      Jobs.set(job, field, value)
    end
  end
  if #spec.tags > 0 then
    Jobs.untag_all(P, job)
    for _, tag in ipairs(spec.tags) do
      Jobs.tag(P, job, tag)
    end
  end
  if given.tracked then
    Jobs.track(P, job, true)
  end
  if #spec.after > 0 or given.every or given.cron then -- a recurring job waits for nothing
    Jobs.remove_dependencies(P, job.id)
  end
  for _, field in ipairs(OF_TRIES) do
    Jobs.set(job, field, nil)
  end
end

-- It stays in its queue and in its state, and so where it is in line, if its priority and its key stay.
local function change_in_place(P, job)
  local is_in_line = job.state == 'waiting' or job.state == 'held'
  if is_in_line and (job.changed.priority ~= nil or job.changed.key ~= nil) then
    Jobs.wait_anew(P, job)
  else
    Jobs.save(P, job)
  end
  Jobs.log_event(P, job, 'put', IN_PLACE)
end

-- `due`: when it is to be ready, or to make its next job, if its spec says so.
local function change_old(P, call, spec, due)
  local job, given = spec.old, spec.given
  local from, what = job.queue, job.queue == call.queue and 'put' or 'moved'
  if job.state == 'failed' then
    Jobs.unended(P, job)
  end
  local next_at = (job.every or job.cron or given.every or given.cron) and set_times(job, given, due)
  write_given(P, job, spec)
  if not next_at and from == call.queue and STAYS[job.state] and not due and #spec.after == 0 then
    return change_in_place(P, job)
  elseif next_at and from == call.queue and job.state == 'recurring' then
    Jobs.look_again(P, job, next_at)
    return Jobs.log_event(P, job, 'put', IN_PLACE)
  end
  Jobs.leave_queue(P, job)
  Jobs.set(job, 'queue', call.queue)
  if next_at then
    Jobs.set(job, 'queued', nil)
    Jobs.start_recurring(P, job, next_at, what, from)
  else
    Jobs.arrive(P, job, due or Jobs.number(job, 'due'), spec.after, what, from)
  end
end

-- Puts one job, of which all is checked. The places are drawn.
local function put_one(P, call, spec)
  local given, old, delay = spec.given, spec.old, tonumber(spec.delay or nil)
  if spec.at and not (spec.is_change and given.every and Jobs.recur.has_first_time(old, given)) then
    delay = math.max(0, tonumber(spec.at) - now_ms())
  end
  if spec.is_change and Jobs.leave_home(P, old) then
    Jobs.give_back(P, old, 'given-back')
  elseif old then
    old.lost_by = old.state == 'running' and Jobs.name_of(P, old) or nil
    Jobs.take_away(P, old)
  end
  if spec.is_change then
    return change_old(P, call, spec, delay and now_ms() + delay)
  elseif old then
    Jobs.make_room(P, old)
  end
  for field, value in pairs(call.new) do
    given[field] = given[field] or value
  end
  if given.every or given.cron then
    local at_ms = given.cron and first_tick(given) or now_ms() + (delay or 0)
    Jobs.make_recurring(P, spec.id, call.queue, given, spec.tags, at_ms)
  else
    local due_ms = delay and delay > 0 and now_ms() + delay or 0
    Jobs.make(P, spec.id, call.queue, given, spec.tags, due_ms, spec.after, nil, spec.is_new)
  end
end

-- Puts all jobs of a call; all of them are checked. The first write draws their places, which needs memory: so a full
-- Redis refuses the whole call. What is the same for many is written once.
local function put_all(P, call)
  Jobs.draw_places(P, #call.specs)
  Jobs.gathered = {}
  Jobs.keys.deferred = {}
  Jobs.gather_moves()
  local n_new, put_plain = 0, nil
  for _, spec in ipairs(call.specs) do
    if spec.is_plain then
      put_plain = put_plain or Jobs.maker_of_plain(P, call.queue, call.new, call.args)
      put_plain(spec)
      n_new = n_new + 1
    else
      put_one(P, call, spec)
      local recurs = spec.given.every or spec.given.cron
      n_new = n_new + (spec.is_new and not spec.given.unique and not recurs and 1 or 0)
    end
  end
  if n_new > 0 then
    Jobs.count(P, {queue = call.queue}, 'put', nil, nil, n_new)
  end
  if call.batches then
    Jobs.batches.join_gathered(P, call.specs)
  end
  Jobs.end_moves()
  Jobs.places = false
  if #Jobs.keys.deferred > 0 then
    Jobs.keys.settle_deferred(P)
  end
  Jobs.count_gathered()
end
