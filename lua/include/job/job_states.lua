--[[
  The states of a job: each move takes it out of one index and puts it into another. And which job comes out next. A
  piece of jobs.
]]
--- @within "jobs"

-- While many jobs move in the same way, what they write to the indexes is gathered. Jobs.moving is then {leaves,
-- enters, has_entered}: the first two are {index -> what the command is told}, the last is {member -> true}.
function Jobs.gather_moves()
  Jobs.moving = {leaves = {}, enters = {}, has_entered = {}}
end

local function write_lines(command, lines)
  for index, line in pairs(lines) do
    for from = 1, line.n, CHUNK do
      redis.call(command, index, unpack(line, from, math.min(from + CHUNK - 1, line.n)))
    end
  end
end

-- Writes what is gathered. Whoever reads an index calls it before.
function Jobs.write_moves()
  local moving = Jobs.moving
  if moving and (next(moving.leaves) or next(moving.enters)) then
    Jobs.gather_moves()
    write_lines('ZREM', moving.leaves)
    write_lines('ZADD', moving.enters)
  end
end

function Jobs.end_moves()
  Jobs.write_moves()
  Jobs.moving = false
end

local function leave(P, job)
  if job.state == 'failed' then
    Failed.remove_at(P, job.queue, job.entry)
    Jobs.set(job, 'entry', nil)
  elseif job.state then -- without a state it is new, or on its way to another queue
    local index, member = Jobs.index(P, job.state, job.queue), Jobs.member(job)
    if Jobs.moving and Jobs.moving.has_entered[member] then
      Jobs.write_moves()
    end
    if Jobs.moving then
      local line = Jobs.moving.leaves[index] or {n = 0}
      line[line.n + 1], line.n, Jobs.moving.leaves[index] = member, line.n + 1, line
    else
      redis.call('ZREM', index, member)
    end
    if job.state == 'recurring' then
      try('ZREM', P .. 'crons', job.id)
    end
    if job.keyed then
      Keys.leave(P, job)
    end
  end
end

local function gather_entry(index, score, member)
  local moving = Jobs.moving
  local line = moving.enters[index] or {n = 0}
  local n = line.n
  line[n + 1], line[n + 2], line.n, moving.enters[index] = score, member, n + 2, line
  moving.has_entered[member] = true
end

local function enter(P, job, state, score)
  Jobs.set(job, 'state', state)
  Jobs.set(job, 'since', now_text())
  if state == 'waiting' and (job.round or Jobs.is_fair(P, job.queue)) then
    Keys.join_round(P, job, score)
  end
  local index, member, moving = Jobs.index(P, state, job.queue), Jobs.member(job), Jobs.moving
  if moving then
    gather_entry(index, score, member)
  else
    redis.call('ZADD', index, score, member)
  end
  if Jobs.is_keyed(job) then
    Keys.enter(P, job, state)
  end
end

local function note_name(P, queue)
  local settings = queue_settings(P, queue)
  if not settings[NAMED] and try('ZADD', P .. 'names', 'NX', now_ms(), queue) then
    redis.call('HSET', P .. 'queue:' .. queue, 'named', '1')
    settings[NAMED] = '1'
  end
end

-- Returns a function that tells the text of a token, then of the next one, and so on: mostly only the last digit is
-- another one.
local function texts_from(number)
  local head
  return function()
    local tail = number % 32
    if tail == 0 or not head then
      head = string.sub(token_text(number), 1, TOKEN_LEN - 1)
    end
    number = number + 1
    return head .. string.char(tail + (tail < 10 and 48 or 87))
  end
end

function Jobs.draw_places(P, n)
  Jobs.places = {next_text = texts_from(draw_tokens(P, n)), left = n}
end

local function draw_place(P)
  local drawn = Jobs.places
  if drawn and drawn.left > 0 then
    drawn.left = drawn.left - 1
    return drawn.next_text()
  end
  local _, place = draw_tokens(P, 1)
  return place
end

local function new_place(P, job)
  Jobs.set(job, 'place', draw_place(P))
  Jobs.set(job, 'round', nil)
  job.is_last = true
end

-- Jobs wait in the queue: then a field makes takes look for them, and the script must hand over before it ends.
local function note_jobs_wait(P, queue)
  local settings = queue_settings(P, queue)
  if not settings[JOBS] then
    redis.call('HSET', P .. 'queue:' .. queue, 'jobs', '1')
    settings[JOBS] = '1'
  end
  touched_by_jobs[queue] = true
end

local function wait_in_line(P, job)
  if not job.is_new then
    Jobs.set(job, 'due', nil)
    Jobs.set(job, 'worker', nil)
    Jobs.set(job, 'token', nil)
  end
  local state = job.key and Keys.state_to_wait(P, job) or 'waiting'
  enter(P, job, state, number(job, 'priority'))
  if state == 'waiting' then
    note_jobs_wait(P, job.queue)
  end
end

-- A job waits, after all of its priority in its queue.
function Jobs.wait(P, job, what, text, worker)
  leave(P, job)
  new_place(P, job)
  wait_in_line(P, job)
  Jobs.save(P, job)
  Jobs.log_event(P, job, what, text, worker)
end

-- A job waits where it was, before all that came later. It was running, and has left its holder's set.
function Jobs.give_back(P, job, what)
  local worker = Jobs.name_of(P, job)
  leave(P, job)
  wait_in_line(P, job)
  Jobs.save(P, job)
  Jobs.log_event(P, job, what, worker, worker)
end

-- A job that waits or is held goes to the place that its key and its priority now say. It has waited all the time. If
-- they say what they said before, it keeps its turn: otherwise whoever says it again and again would hold it up.
function Jobs.wait_anew(P, job)
  if job.keyed and job.keyed == Keys.member(job, job.state) then
    Jobs.save(P, job)
    return
  end
  local since = job.since
  leave(P, job)
  Jobs.set(job, 'round', nil)
  wait_in_line(P, job)
  job.since, job.changed.since = since, nil
  Jobs.save(P, job)
end

function Jobs.schedule(P, job, at_ms, what, text, worker)
  leave(P, job)
  new_place(P, job)
  Jobs.set(job, 'worker', nil)
  Jobs.set(job, 'token', nil)
  Jobs.set(job, 'due', string.format('%.0f', at_ms))
  enter(P, job, 'scheduled', at_ms)
  Jobs.save(P, job)
  note_due(P, job.queue, at_ms)
  Jobs.log_event(P, job, what, text, worker)
end

-- A job waits for no other job any more, but maybe for its time.
function Jobs.ready(P, job, what, text)
  if job.due and number(job, 'due') > now_ms() then
    Jobs.schedule(P, job, number(job, 'due'), what or 'scheduled', text)
  else
    Jobs.wait(P, job, what or 'ready', text)
  end
end

-- A job waits for the jobs of the names `on`, besides those that it waits for already.
function Jobs.depend(P, job, on, what, text)
  leave(P, job)
  new_place(P, job)
  for _, name in ipairs(on) do
    Jobs.add_dependency(P, job, name)
  end
  Jobs.set(job, 'worker', nil)
  Jobs.set(job, 'token', nil)
  enter(P, job, 'depends', now_ms())
  Jobs.save(P, job)
  Jobs.log_event(P, job, what, text)
end

-- A job comes into a holder's hands, who is called `name`. The caller writes the set.
function Jobs.run(P, job, holder, token, name)
  local waited = now_ms() - number(job, 'since')
  leave(P, job)
  Jobs.set(job, 'worker', holder)
  Jobs.set(job, 'token', token)
  enter(P, job, 'running', now_ms())
  Jobs.save(P, job)
  Jobs.count(P, job, 'taken', 'wait', math.max(0, waited))
  name = name or holder
  Jobs.log_event(P, job, 'taken', name, name)
end

-- A running job goes from its holder's hands into another's. The caller writes the sets.
function Jobs.move(P, job, holder, token)
  local from = job.worker
  leave(P, job)
  Jobs.set(job, 'worker', holder)
  Jobs.set(job, 'token', token)
  enter(P, job, 'running', now_ms())
  Jobs.save(P, job)
  Jobs.log_event(P, job, 'handed-on', holder, from)
end

-- What comes out next, at most n, each under a token of its own: {token, member} of a job, {token} of a task. If fewer
-- than n, nothing is left. Jobs of negative priority come first. Then tasks and jobs of priority 0 take turns, by the
-- parity of the token. Then come the other jobs. Tasks that came back come before those of the list.
function Jobs.next_out(P, queue, n, has_returned)
  local members = redis.call('ZRANGE', Jobs.index(P, 'waiting', queue), 0, n - 1, 'WITHSCORES')
  local tasks, line, at = redis.call('LLEN', P .. 'queues:' .. queue), {}, 1
  if has_returned then
    tasks = tasks + count_returned(P, queue)
  end
  n = math.min(n, #members / 2 + tasks)
  local first = n > 0 and draw_tokens(P, n)
  local next_text = first and texts_from(first)
  for i = 1, first and n or 0 do
    local priority = tonumber(members[at + 1])
    if priority and (tasks == 0 or priority < 0 or (priority == 0 and (first + i - 1) % 2 == 1)) then
      line[i] = {next_text(), members[at]}
      at = at + 2
    else
      line[i] = {next_text()}
      tasks = tasks - 1
    end
  end
  return line
end

-- How many members this script may still look through for what is left of broken jobs; a check looks through all.
local broken_search_left = 10000

local function find_broken(key, id, id_in)
  local found, n = {}, try('ZCARD', key) or 0
  local may_search = n <= broken_search_left
  broken_search_left = broken_search_left - (may_search and n or 0)
  for from = 0, may_search and n - 1 or -1, CHUNK do
    for _, member in ipairs(redis.call('ZRANGE', key, from, from + CHUNK - 1)) do
      found[#found + 1] = id_in(member) == id and member or nil
    end
  end
  return found
end

local function id_in_keyed(member)
  local one = Keys.parse(member)
  return one and one.id
end

-- A broken job runs and waits no more: nothing is held because of it.
local function forget_broken(P, queue, id)
  local running, keyed = Jobs.index(P, 'running', queue), P .. 'keyed:' .. queue
  for _, member in ipairs(find_broken(running, id, Jobs.id_of)) do
    redis.call('ZREM', running, member)
  end
  for _, member in ipairs(find_broken(keyed, id, id_in_keyed)) do
    redis.call('ZREM', keyed, member)
    Keys.settle_left(P, {unsettled = {{queue, member}}})
  end
end

-- A job's record cannot be read, and the job was removed from its index or its holder's set. It goes onto the failed
-- list, where people see it.
local function fail_broken(P, queue, id, token, worker)
  Jobs.write_moves()
  forget_broken(P, queue, id)
  Failed.add(P, queue, now_ms(), token, worker, 'broken', 'its record cannot be read', id, Failed.draw_entry(P))
end

-- The job that a member of an index stands for. Nil if it is elsewhere by now, or if its record cannot be read. In both
-- cases the member goes; in the second one the job goes onto the failed list.
function Jobs.of_member(P, state, queue, member)
  local job = Jobs.read(P, Jobs.id_of(member))
  if job and job.state == state and job.queue == queue and Jobs.member(job) == member then
    return job
  end
  redis.call('ZREM', Jobs.index(P, state, queue), member)
  if not job then
    local at = round_len(member)
    fail_broken(P, queue, Jobs.id_of(member), string.sub(member, at + 1, at + TOKEN_LEN), '')
  end
end

-- After jobs were taken: if none is left, removes the field that makes takes look for jobs.
function Jobs.clear_if_none_wait(P, queue)
  if redis.call('ZCARD', Jobs.index(P, 'waiting', queue)) == 0 then
    redis.call('HDEL', P .. 'queue:' .. queue, 'jobs')
    queue_settings(P, queue)[JOBS] = nil
  end
end
