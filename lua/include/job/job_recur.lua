--[[
  Recurring jobs make jobs: at an interval, or at the ticks of a schedule. A piece of jobs.

  The ticks of a schedule are computed by the library, never here (doc/cron.md). The record has the next ones,
  ascending, in `ticks`; `final` says that no others come. All up to `last` are dealt with. P:crons says when somebody
  is to compute more: long before they run out. If they did run out, because nobody was there, the job looks again every
  second.

  With a backlog nothing is made before all times that were missed are known; up to `settled` they are.
]]
--- @within "jobs"

local Recur = {inherited = {'data', 'priority', 'retries', 'limit', 'backoff', 'backoff_max', 'backoff_kind', 'jitter',
  'key'},
  every_least_ms = 1000, pause_ms = 1000, queued_pause_ms = 60000, ahead_ms = DAY_MS, asked_max = 20}
Jobs.recur = Recur

-- The time from which on the times of an interval are not dealt with. Where the record says nonsense, its index tells.
local function first_time(P, job)
  local known = whole(job[job.queued and 'queued' or 'due'])
  return known or tonumber(try('ZSCORE', Jobs.index(P, 'recurring', job.queue), Jobs.member(job)) or nil) or now_ms()
end

-- The times of a job that have come and are not dealt with: how many are known, whether these are all; and a function
-- that returns one of them by its number, or the first one after them, if that is known.
function Recur.times(P, job, now)
  if job.cron then
    local ticks, n = {}, 0
    for tick in string.gmatch(job.ticks or '', '%d+') do
      ticks[#ticks + 1] = tonumber(tick)
      n = n + (ticks[#ticks] <= now and 1 or 0)
    end
    local is_sure = n < #ticks or job.final == '1' or (n > 0 and ticks[n] <= number(job, 'settled'))
    return n, is_sure, function(i) return ticks[i] end
  end
  local every, last = math.max(Recur.every_least_ms, number(job, 'every')), number(job, 'until')
  local first = first_time(P, job)
  local n = math.max(0, math.floor((now - first) / every) + 1)
  if last > 0 then
    n = math.min(n, math.max(0, math.floor((last - first) / every) + 1))
  end
  return n, true, function(i)
    local at = first + (i - 1) * every
    return (last == 0 or at <= last) and at or nil
  end
end

-- The two ids that its n-th job may have: see Jobs.id_to_make().
local function ids_of_made(job, n)
  local usual = job.id .. '-' .. n
  return usual, Jobs.own_id(usual, job.place)
end

-- The job that it made last, if that has not ended. A job of such an id that it has not made does not count.
function Recur.busy_with(P, job)
  local usual, own = ids_of_made(job, number(job, 'made'))
  for _, id in ipairs({own, usual}) do
    local made = number(job, 'made') > 0 and Jobs.read_head(P, id)
    if made and made.made_by == job.id then
      return not Jobs.is_over(made) and id or nil
    end
  end
end

-- The first time that is not dealt with. One that waits for an end looks again at `due`.
function Recur.next_time(job)
  return number(job, job.queued and 'queued' or 'due')
end

-- Does the job recur, and not before this first time? One that is over says nothing.
function Recur.has_first_time(job, given)
  local now = now_ms()
  return job.state == 'recurring' and math.max(now, number(job, 'from')) == math.max(now, number(given, 'from'))
end

-- Does the job recur at this interval or schedule already?
function Recur.has_times(job, given)
  return job.every == given.every and job.cron == given.cron and job.zone == given.zone
    and Recur.has_first_time(job, given)
end

-- The same schedule gets another last time, or none: what is known of its times stays. `given` has the next ticks.
function Recur.set_until(job, given)
  local last, known, n_old = number(given, 'until'), {}, 0
  for tick in string.gmatch(job.ticks or '', '%d+') do
    n_old = n_old + 1
    known[#known + 1] = (last == 0 or tonumber(tick) <= last) and tick or nil
  end
  local is_final = #known < n_old and '1' or nil
  if not is_final and job.final == '1' then
    for tick in string.gmatch(given.ticks or '', '%d+') do
      known[#known + 1] = tonumber(tick) > (tonumber(known[#known]) or 0) and tick or nil
    end
    is_final = given.final
  end
  Jobs.set(job, 'ticks', table.concat(known, ' '))
  Jobs.set(job, 'final', is_final)
end

-- Sets when the job is looked at next. It recurs already.
function Recur.look_at(P, job, at_ms)
  Jobs.set(job, 'due', string.format('%.0f', at_ms))
  redis.call('ZADD', Jobs.index(P, 'recurring', job.queue), at_ms, Jobs.member(job))
end

-- Notes when more ticks are to be computed: when half of those that are known are over, and at least once a day,
-- because zone data may change; not before `pause` is over.
function Recur.note_refill(P, job, pause)
  if not job.cron or job.final == '1' then
    try('ZREM', P .. 'crons', job.id)
    return
  end
  local ticks = {}
  for tick in string.gmatch(job.ticks or '', '%d+') do
    ticks[#ticks + 1] = tonumber(tick)
  end
  local half = ticks[math.ceil(#ticks / 2)] or 0
  local at_ms = math.max(now_ms() + pause, math.min(half, now_ms() + Recur.ahead_ms))
  if try('ZADD', P .. 'crons', at_ms, job.id) then
    Batches.note_due(P, at_ms)
  end
end

-- It makes no more jobs. Its record is kept as that of a complete job.
function Recur.finish(P, job)
  leave(P, job)
  for _, field in ipairs({'due', 'ticks', 'queued', 'settled', 'final'}) do
    Jobs.set(job, field, nil)
  end
  enter(P, job, 'complete', now_ms())
  Jobs.save(P, job)
  Jobs.log_event(P, job, 'completed', '')
  Jobs.trim_complete(P, job.queue, 1, 1)
end

-- What is done of the times that have come, at most `n`: {over: how many are beyond the backlog; taken: how many are
-- dealt with besides; made: for how many of these a job is made}. Nil if nothing can be done now.
function Recur.plan(job, n, missed, is_sure, busy)
  local backlog, count = number(job, 'backlog'), number(job, 'count')
  if missed == 0 or (backlog > 0 and not is_sure) or (busy and job.overlap == 'queue') then
    return nil
  end
  local over = backlog > 0 and math.max(0, missed - backlog) or 0
  local taken = job.overlap == 'queue' and 1 or math.min(missed - over, n)
  local made = job.overlap == 'skip' and (busy and 0 or 1) or taken
  if count > 0 then
    made = math.min(made, math.max(0, count - number(job, 'made')))
  end
  return {over = over, taken = taken, made = made}
end

-- Nothing can be made at present. A job that is queued goes on when the other one ends; to look once a minute besides
-- costs nothing.
function Recur.pause(P, job, missed, at, busy)
  if missed == 0 and not at(1) and (not job.cron or job.final == '1') then
    Recur.finish(P, job)
    return
  end
  local is_queued, next_at = missed > 0 and busy and job.overlap == 'queue', now_ms() + Recur.pause_ms
  if is_queued then
    Jobs.set(job, 'queued', string.format('%.0f', at(1)))
    next_at = now_ms() + Recur.queued_pause_ms
  elseif missed == 0 and at(1) then
    next_at = at(1)
  else
    Recur.note_refill(P, job, 0)
  end
  Recur.look_at(P, job, next_at)
  Jobs.save(P, job)
end

-- Notes in the record what is dealt with, and when the next one is due. Before the jobs are made: after an error it
-- still goes on.
function Recur.go_on(P, job, plan, at)
  local made, dealt = number(job, 'made') + plan.made, plan.over + plan.taken
  local next_at, count = at(dealt + 1), number(job, 'count')
  Jobs.set(job, 'made', made)
  Jobs.set(job, 'queued', nil)
  if job.cron then
    local left, i = {}, dealt + 1
    while at(i) do
      left[#left + 1], i = string.format('%.0f', at(i)), i + 1
    end
    Jobs.set(job, 'last', string.format('%.0f', at(dealt)))
    Jobs.set(job, 'ticks', table.concat(left, ' '))
  end
  if (count > 0 and made >= count) or (not next_at and (not job.cron or job.final == '1')) then
    Recur.finish(P, job)
    return
  end
  Recur.look_at(P, job, next_at or now_ms() + Recur.pause_ms)
  Jobs.save(P, job)
  if not next_at then
    Recur.note_refill(P, job, 0)
  end
end

-- Makes the jobs that a recurring job should have made by now, at most `n`. Returns how many times are dealt with.
function Recur.go(P, job, n)
  if not job.cron and not whole(job.every) then -- nobody knows its times: a check tells
    Recur.look_at(P, job, now_ms() + Recur.queued_pause_ms)
    Jobs.save(P, job)
    return 1
  end
  local missed, is_sure, at = Recur.times(P, job, now_ms())
  local busy = (job.overlap == 'skip' or job.overlap == 'queue') and Recur.busy_with(P, job) or nil
  local plan, made = Recur.plan(job, n, missed, is_sure, busy), number(job, 'made')
  if not plan then
    Recur.pause(P, job, missed, at, busy)
    return 1
  end
  local given = {made_by = job.id}
  for _, field in ipairs(Recur.inherited) do
    given[field] = job[field]
  end
  if plan.over > 0 then
    Jobs.log_event(P, job, 'skipped', plan.over .. ' times beyond the backlog')
  end
  local skipped = job.overlap == 'skip' and plan.taken - plan.made or 0
  if skipped > 0 then
    local what = busy or job.id .. '-' .. made + 1
    Jobs.log_event(P, job, 'skipped', (skipped > 1 and skipped .. ' times: ' or '') .. what .. ' has not ended')
  end
  Recur.go_on(P, job, plan, at)
  for i = 1, plan.made do
    local usual = ids_of_made(job, made + i)
    local id = Jobs.id_to_make(P, usual, job.place)
    if id then
      Jobs.make(P, id, job.queue, given, tags_of(job), 0, {}, at(plan.over + i))
    end
    if id ~= usual and redis.call('EXISTS', P .. 'job:' .. job.id) == 1 then
      Jobs.log_event(P, job, id and 'renamed' or 'skipped', id or usual)
    end
  end
  return plan.taken
end

-- The job `id`, which the job `parent` made, has ended: if that one waits for it, it goes on.
function Jobs.let_recur(P, parent, id)
  local job = Jobs.read(P, parent)
  local usual, own
  if job and job.state == 'recurring' and job.queued then
    usual, own = ids_of_made(job, number(job, 'made'))
  end
  if usual and (id == usual or id == own) and has_type('ZCARD', Jobs.index(P, 'recurring', job.queue)) and
    has_type('HLEN', P .. 'queue:' .. job.queue) then
    Recur.look_at(P, job, now_ms())
    Jobs.save(P, job)
    note_due(P, job.queue, now_ms())
  end
end

-- When the job makes its next job, after its schedule or its overlap was changed. It recurs already.
function Jobs.retime(P, job, pause)
  local missed, _, at = Recur.times(P, job, now_ms())
  Jobs.look_again(P, job, at(1) or at(missed + 1) or now_ms() + Recur.pause_ms, pause)
end

-- A job that recurs already looks next at this time, whatever it has waited for.
function Jobs.look_again(P, job, at_ms, pause)
  Jobs.set(job, 'queued', nil)
  Recur.look_at(P, job, at_ms)
  Jobs.save(P, job)
  note_due(P, job.queue, at_ms)
  Recur.note_refill(P, job, pause or 0)
end

-- The job has the next ticks, and `over` missed ones are left out. One that is queued goes on waiting.
function Jobs.refilled(P, job, over)
  if over > 0 then
    Jobs.log_event(P, job, 'skipped', over .. ' times beyond the backlog')
  end
  if job.queued then
    Jobs.save(P, job)
    Recur.note_refill(P, job, Recur.queued_pause_ms)
  else
    Jobs.retime(P, job, Recur.pause_ms)
  end
end

-- The jobs whose ticks are to be computed: for each its id, and of its record `cron`, `zone`, `last`, `until` and
-- `backlog`. They are asked for again in a moment, unless somebody has done it.
function Jobs.crons_due(P, now)
  local asked = {}
  for _, id in ipairs(try('ZRANGEBYSCORE', P .. 'crons', '-inf', now, 'LIMIT', 0, Recur.asked_max) or {}) do
    local fields = try('HMGET', P .. 'job:' .. id, 'state', 'cron', 'zone', 'last', 'until', 'backlog')
    if fields and fields[1] == 'recurring' and fields[2] then
      redis.call('ZADD', P .. 'crons', now + Recur.pause_ms, id)
      fields[1] = id
      for i = 2, 6 do
        fields[i] = fields[i] or ''
      end
      asked[#asked + 1] = fields
    else
      redis.call('ZREM', P .. 'crons', id)
    end
  end
  return asked
end

function Jobs.make_recurring(P, id, queue, given, tags, at_ms)
  Jobs.start_recurring(P, new_record(P, id, queue, given, tags), at_ms)
end

-- The job recurs from now on. One that has recurred, in another queue, keeps its place, which its jobs may be named by.
function Jobs.start_recurring(P, job, at_ms, what, text)
  leave(P, job)
  if not job.has_recurred then
    new_place(P, job)
  end
  note_name(P, job.queue)
  Jobs.set(job, 'worker', nil)
  Jobs.set(job, 'token', nil)
  Jobs.set(job, 'due', string.format('%.0f', at_ms))
  enter(P, job, 'recurring', at_ms)
  Jobs.save(P, job)
  note_due(P, job.queue, at_ms)
  if job.cron then
    Recur.note_refill(P, job, 0)
  end
  Jobs.log_event(P, job, what or 'put', text)
end
