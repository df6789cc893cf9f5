--[[
  Letting go: what becomes of the jobs that waited for a job which has ended. They are let go in the order in which they
  came to wait, at most LET_GO_MAX in a script. If there are more, their list P:dependents:<id> becomes
  P:freed:<kind><id>, and P:ended has "<kind><id>" with the time at which somebody is to go on. Whatever moves what is
  due goes on: promote; take and turn on the queue of the job that ended. Until then such a job depends as before, so
  it does not run. The kinds:
    d   the job is done: a job that waits for nothing else is ready
    g   the job is gone: they fail, group "dependency"
  In the same way its P:followers, who wait for any end of it, or for its failure:
    f   the job has failed: a job that waits for nothing else is ready
    e   it has ended otherwise: the same for those that wait for any end. It will not fail: the others are cancelled
    c   they are cancelled, with all that wait for them: the list has all of them, each with its place. To everybody
        else they are gone already
  A piece of jobs.
]]
--- @within "jobs"

local DONE, GONE, CANCELLING, FAILED, NOT_FAILED = 'd', 'g', 'c', 'f', 'e'
-- What becomes of the jobs that wait for a job which ends so: P:dependents, then P:followers. False: they wait on, for
-- it may be replayed.
local ON_END = {complete = {DONE, NOT_FAILED}, failed = {false, FAILED}, cancelled = {GONE, NOT_FAILED},
  gone = {GONE, NOT_FAILED}}
local IS_OF_BATCH = {b = true, k = true} -- members of P:ended that have no list (include job_batch)
local LET_GO_MAX = 400
-- Beside a damaged key somebody looks again after a pause.
local LET_GO_PAUSE_MS = 1000
-- How many more this script may let go.
local room = LET_GO_MAX

-- The lists of jobs that are being cancelled, read once.
local doomed_lists
function Jobs.cancelling_lists(P)
  if not doomed_lists then
    doomed_lists = {}
    for _, member in ipairs(try('ZRANGE', P .. 'ended', 0, -1) or {}) do
      doomed_lists[#doomed_lists + 1] = string.byte(member) == string.byte(CANCELLING) and P .. 'freed:' .. member
        or nil
    end
  end
  return doomed_lists
end

-- Is this job, which depends and has this place, one of those that are being cancelled?
local function is_doomed(P, id, place)
  for _, list in ipairs(Jobs.cancelling_lists(P)) do
    if tonumber(try('ZSCORE', list, id) or nil) == token_number(place or '') then
      return true
    end
  end
  return false
end
Jobs.is_doomed = is_doomed

-- Has the job of this name ended, and the job `id` is still to be let go?
function Jobs.is_to_go(P, id, name)
  local on, kind = parse_name(name)
  local one, other = DONE, GONE
  if kind ~= '' then
    one, other = FAILED, NOT_FAILED
  end
  local member = id .. kind
  return try('ZSCORE', P .. 'freed:' .. one .. on, member) or try('ZSCORE', P .. 'freed:' .. other .. on, member)
end

local act = {}

-- What a job waited for has come.
local function meet(P, id, name)
  local job = read_depending(P, id)
  if job ~= nil and Jobs.remove_dependency(P, id, name) == 0 and job then
    Jobs.ready(P, job)
  end
end

act[DONE] = meet

act[FAILED] = function(P, follower, on)
  local id, kind = parse_name(follower)
  meet(P, id, on .. kind)
end

-- A member of a batch that is being cancelled is cancelled with it, before it is ready.
local function meet_end(P, id, name)
  local job = read_depending(P, id)
  if job and job.batch and Batches.is_cancelled(P, job.batch) then
    Jobs.remove_dependencies(P, id)
    Jobs.cancel(P, job, '')
  else
    meet(P, id, name)
  end
end

-- What a job waited for can never come. One that no longer names the other does not care.
local function give_up(P, id, name)
  local job, on = read_depending(P, id), parse_name(name)
  local is_let_go = job ~= nil and try('SREM', P .. 'dependencies:' .. id, name) == 1 and job
  if is_let_go then
    Jobs.remove_dependencies(P, id)
    Jobs.cancel(P, job, '', nil, "the job '" .. on .. "' has ended, and has not failed")
  end
  local key, member = other_side(P, id, name)
  try('ZREM', key, member)
end

act[NOT_FAILED] = function(P, follower, on)
  local id, kind = parse_name(follower)
  local go = kind == '\ne' and meet_end or give_up
  go(P, id, on .. kind)
end

-- A job that no longer names the one that is gone does not care.
act[GONE] = function(P, id, on)
  local job = read_depending(P, id)
  local is_let_go = job ~= nil and try('SREM', P .. 'dependencies:' .. id, on) == 1 and job
  if is_let_go then
    Jobs.remove_dependencies(P, id)
  end
  if is_let_go and job.batch and Batches.is_cancelled(P, job.batch) then
    Jobs.cancel(P, job, '') -- with its batch, as the one that it waited for
  elseif is_let_go then
    Jobs.fail(P, job, '', job.place, 'dependency', "the job '" .. on .. "' that it waited for is gone")
  end
  try('ZREM', P .. 'dependents:' .. on, id)
end

-- All that wait for it are on the same list. A job of another place is a new one of that id. True: a damaged key
-- forbids it, and it stays on the list: without that it would be there again, and run once the key is mended.
act[CANCELLING] = function(P, id, _, place)
  local job = Jobs.read_head(P, id)
  if not job or not (job.state == 'depends' or job.state == 'failed') or token_number(job.place) ~= place then
    return false
  elseif not Jobs.are_sound(P, job.queue) or not try('ZCARD', P .. 'dependents:' .. id) then
    return true
  end
  redis.call('DEL', P .. 'dependents:' .. id)
  Jobs.cancel(P, job, '')
end

-- If the job is being cancelled, it is gone from here on. Is it?
function Jobs.is_cancelled_now(P, job)
  if job.state == 'depends' and is_doomed(P, job.id, job.place) then
    act[CANCELLING](P, job.id, '', token_number(job.place))
    return true
  end
end

-- Lets go as many of one list as there is room for. The list goes with its last job.
local function go_on(P, member)
  local list, wanted = P .. 'freed:' .. member, room
  local found = wanted > 0 and try('ZRANGE', list, 0, wanted - 1, 'WITHSCORES') or {}
  local n = #found / 2
  room = room - n
  if n < wanted then
    try('ZREM', P .. 'ended', member)
  end
  if n > 0 then
    redis.call('ZREMRANGEBYRANK', list, 0, n - 1)
  end
  local stay = {}
  for i = 1, #found, 2 do
    if act[string.sub(member, 1, 1)](P, found[i], string.sub(member, 2), tonumber(found[i + 1])) then
      stay[#stay + 1], stay[#stay + 2] = found[i + 1], found[i]
    end
  end
  if #stay > 0 then
    redis.call('ZADD', list, unpack(stay))
    try('ZADD', P .. 'ended', now_ms() + LET_GO_PAUSE_MS, member)
  end
end

-- Notes that somebody is to go on with a list at this time. `queue`: one on which takes then look, too.
local function note_ended(P, member, queue, at_ms)
  try('ZADD', P .. 'ended', at_ms, member)
  note_due(P, queue, at_ms)
end

-- Moves what is due of all lists. For move_due(), which asks for the first time itself.
function Jobs.let_go_due(P, _, now)
  while room > 0 do
    local member = (try('ZRANGEBYSCORE', P .. 'ended', '-inf', now, 'LIMIT', 0, 1) or {})[1]
    if not member then
      return
    elseif IS_OF_BATCH[string.sub(member, 1, 1)] then
      room = room - Batches.go_on(P, member)
    else
      go_on(P, member)
    end
  end
end

-- Ids of jobs for whose end nobody waits, as far as that is known.
local nobody_waits = {}

-- Lets go the jobs of the list `waiting`. If an earlier job of this id still has a list of this kind, all go at once.
local function let_go_list(P, waiting, kind, id, queue)
  local member, n = kind .. id, try('ZCARD', waiting) or 0
  if n > 0 then
    Jobs.write_moves()
  end
  if n > room and try('ZCARD', P .. 'ended') and redis.call('EXISTS', P .. 'freed:' .. member) == 0 then
    redis.call('RENAME', waiting, P .. 'freed:' .. member)
    note_ended(P, member, queue, now_ms())
    go_on(P, member)
    return
  end
  room = room - n
  for _, dependent in ipairs(n > 0 and redis.call('ZRANGE', waiting, 0, -1) or {}) do
    act[kind](P, dependent, id)
  end
end

-- A job of this queue has ended; `how` as ended() says.
local function let_go(P, how, id, queue)
  local dependents, followers = P .. 'dependents:' .. id, P .. 'followers:' .. id
  if nobody_waits[id] or redis.call('EXISTS', dependents, followers) == 0 then
    return
  end
  local of_dependents, of_followers = unpack(ON_END[how])
  if of_dependents then
    let_go_list(P, dependents, of_dependents, id, queue)
  end
  let_go_list(P, followers, of_followers, id, queue)
end

-- Lets go those that still wait for the failure of a job which is to run again. Is that all of them?
function Jobs.let_go_before_replay(P, id)
  local list = P .. 'freed:' .. FAILED .. id
  if (try('ZCARD', list) or 0) > 0 then
    go_on(P, FAILED .. id)
  end
  return (try('ZCARD', list) or 0) == 0
end

-- Cancels these jobs, {id, place, ...}, all of which wait for jobs that are being cancelled. `name` is that of the
-- list; at_ms: when others go on with it, if the caller does not. Returns how many are left: all of them if they are
-- more than one script lets go, because noting so many takes its time, too.
function Jobs.doom(P, name, doomed, queue, at_ms)
  local member, scored = CANCELLING .. name, {}
  local list, n = P .. 'freed:' .. member, 0
  for i = 1, #doomed, 2 do
    scored[n + 1], scored[n + 2] = token_number(doomed[i + 1]), doomed[i]
    n = n + 2
    if n == 1000 or i + 2 > #doomed then
      redis.call('ZADD', list, unpack(scored, 1, n))
      n = 0
    end
  end
  if #doomed / 2 > room then
    note_ended(P, member, queue, at_ms)
    return #doomed / 2
  end
  return Jobs.go_on_cancelling(P, name, queue, at_ms)
end

-- Goes on with such a list, and returns how many are left.
function Jobs.go_on_cancelling(P, name, queue, at_ms)
  local member = CANCELLING .. name
  go_on(P, member)
  local left = try('ZCARD', P .. 'freed:' .. member) or 0
  if left > 0 then
    note_ended(P, member, queue, at_ms)
  end
  return left
end
