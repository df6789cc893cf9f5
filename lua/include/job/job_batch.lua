--[[
  Batches: jobs and other batches that belong together, the members of a batch. P:batch:<id> is the record: its state
  (open; closed: no more members come; ended: closed, and all members have ended), its counts, and its followers, the
  jobs that are put when something has become true of it. P:members:<id> has the members that have not ended: "j<id>"
  of a job, "b<id>" of a nested batch. Their scores are the order in which they came; one that began again has a score
  below 0. P:batches has the batches that have not ended: an open one with the time at which it is closed if
  nobody does, a closed one with +inf. P:past has the others, by when they ended.

  A member names its batch by the batch's place and id, because an id may be used again. A follower is noted in the
  record by the script that puts it, so it is put once. What one script leaves to be done stands in P:ended (include
  job_let_go):
    b   the batch has followers to put
    k   the batch is cancelled, and more of its members are to be cancelled
  And the member "" of P:due has the first time of these two and of P:batches. A piece of jobs.
]]
--- @within "jobs"

local BATCH_DAMAGED_PAUSE_MS = 1000
local BATCHES_TRIMMED_PER_END = 10
local FOLLOWERS_MAX = 100
-- How many more followers this script may put.
local followers_left = FOLLOWERS_MAX
-- In the order in which they are put.
local FOLLOWERS = {'failure', 'end', 'complete'}
Batches.FOLLOWERS = FOLLOWERS
-- All but the followers' data, which may be large.
local RECORD = {'place', 'state', 'ttl', 'depth', 'batch', 'members', 'complete', 'failed', 'cancelled', 'gone',
  'first', 'cancel', 'from', 'how', 'on_failure', 'on_end', 'on_complete', 'put_failure', 'put_end', 'put_complete'}

-- A batch's record. Or nil, and whether there is none at all; if not, it cannot be read.
function Batches.read(P, id)
  local values, batch = try('HMGET', P .. 'batch:' .. id, unpack(RECORD)), {id = id}
  for i = 1, values and #RECORD or 0 do
    batch[RECORD[i]] = values[i] or nil
  end
  if batch.place and #batch.place == TOKEN_LEN and batch.state then
    return batch
  end
  return nil, values and redis.call('EXISTS', P .. 'batch:' .. id) == 0
end

-- By this a member names its batch.
function Batches.name(batch)
  return batch.place .. batch.id
end

-- The record that a member names. Nil if it is gone, or if another batch has its id now.
function Batches.named(P, name)
  local batch = Batches.read(P, string.sub(name, TOKEN_LEN + 1))
  return batch and Batches.name(batch) == name and batch or nil
end

-- Have the keys of a batch besides its record the right types?
function Batches.are_sound(P, id)
  return have_types({'ZCARD', P .. 'members:' .. id, 'ZCARD', P .. 'batches', 'ZCARD', P .. 'past',
    'ZCARD', P .. 'ended'})
end

local function set_batch(P, batch, given)
  local flat = {}
  for field, value in pairs(given) do
    batch[field] = tostring(value)
    flat[#flat + 1] = field
    flat[#flat + 1] = batch[field]
  end
  redis.call('HSET', P .. 'batch:' .. batch.id, unpack(flat))
end

-- A damaged counter stays as it is: a check finds it.
local function count_batch(P, batch, what, n)
  batch[what] = try('HINCRBY', P .. 'batch:' .. batch.id, what, n)
  return batch[what] or 0
end

-- Tells those who listen. A batch belongs to no queue.
function Batches.publish_event(P, batch, what, text)
  Jobs.publish_event(P, {queue = '', id = batch.id}, now_ms(), what, text)
end

-- Notes that somebody is to look at batches at this time.
function Batches.note_due(P, at_ms)
  local first = (try('ZRANGE', P .. 'due', 0, 0, 'WITHSCORES') or {})[2]
  local known = try('ZSCORE', P .. 'due', '')
  if known == false or (known and tonumber(known) > at_ms) then
    redis.call('ZADD', P .. 'due', at_ms, '')
  end
  if at_ms < (tonumber(first) or math.huge) then
    tell_timer(P)
  end
end

function Batches.go_on_later(P, kind, batch, at_ms)
  try('ZADD', P .. 'ended', at_ms, kind .. batch.id)
  Batches.note_due(P, at_ms)
end

-- ---- followers ----

function Batches.is_complete(batch)
  return not batch.cancel and Jobs.number(batch, 'complete') == Jobs.number(batch, 'members')
end

-- Has this follower still to be put?
function Batches.owes(batch, which)
  if not batch['on_' .. which] or batch['put_' .. which] then
    return false
  elseif which == 'failure' then
    return batch.first ~= nil
  end
  return batch.state == 'ended' and (which == 'end' or Batches.is_complete(batch))
end

function Batches.owes_any(batch)
  for _, which in ipairs(FOLLOWERS) do
    if Batches.owes(batch, which) then
      return true
    end
  end
  return false
end

local function put_follower(P, batch, which)
  local queue = batch['on_' .. which]
  local id = followers_left > 0 and Jobs.can_arrive(P, queue)
    and Jobs.id_to_make(P, batch.id .. '-' .. which, batch.place)
  if not id then
    return false
  end
  local data = redis.call('HGET', P .. 'batch:' .. batch.id, 'data_' .. which) or batch.id
  followers_left = followers_left - 1
  set_batch(P, batch, {['put_' .. which] = id})
  Jobs.make(P, id, queue, {data = data, retries = '5'}, {}, 0, {})
  return true
end

-- Puts the followers that the batch owes. What cannot be done now is noted.
function Batches.put_owed(P, batch)
  for _, which in ipairs(FOLLOWERS) do
    if Batches.owes(batch, which) and not put_follower(P, batch, which) then
      local pause = followers_left > 0 and BATCH_DAMAGED_PAUSE_MS or 1
      Batches.go_on_later(P, 'b', batch, now_ms() + pause)
    end
  end
end

-- ---- ends ----

-- Removes ended batches that are too many or too old, at most `n`, by the bounds of complete jobs. Returns how many.
function Batches.trim(P, n)
  local settings = namespace_settings(P)
  local most = whole(settings[KEEP_JOBS]) or DEFAULTS[KEEP_JOBS]
  local longest = whole(settings[KEEP_JOBS_MS]) or DEFAULTS[KEEP_JOBS_MS]
  for i = 1, n do
    local id, at = unpack(try('ZRANGE', P .. 'past', 0, 0, 'WITHSCORES') or {})
    if not id or (redis.call('ZCARD', P .. 'past') <= most and tonumber(at) > now_ms() - longest) then
      return i - 1
    end
    local batch, is_none = Batches.read(P, id)
    if batch and Batches.owes_any(batch) then
      return i - 1
    end
    redis.call('ZREM', P .. 'past', id)
    if batch or is_none then
      redis.call('DEL', P .. 'batch:' .. id, P .. 'members:' .. id)
    end
  end
  return n
end

-- The first failure is told at once, to the batches around, too.
local function note_first_failure(P, batch, id)
  while batch and not batch.first do
    set_batch(P, batch, {first = id})
    Batches.put_owed(P, batch)
    batch = batch.batch and Batches.named(P, batch.batch)
  end
end

-- How a batch counts in the one around it.
local function end_of(batch)
  if Batches.is_complete(batch) then
    return 'complete'
  end
  return not batch.cancel and Jobs.number(batch, 'failed') > 0 and 'failed' or 'cancelled'
end

local function end_batch(P, batch)
  set_batch(P, batch, {state = 'ended', since = now_text(), how = end_of(batch)})
  redis.call('HDEL', P .. 'batch:' .. batch.id, 'from')
  redis.call('ZREM', P .. 'batches', batch.id)
  redis.call('ZADD', P .. 'past', now_ms(), batch.id)
  Batches.publish_event(P, batch, 'batch-ended', batch.how)
  Batches.put_owed(P, batch)
  Batches.trim(P, BATCHES_TRIMMED_PER_END)
  if batch.batch then
    Batches.member_ended(P, batch.batch, 'b' .. batch.id, batch.how, batch.first)
  end
end

-- Ends a batch that is closed and has no members left. Has it ended?
function Batches.end_if_over(P, batch)
  if batch.state == 'closed' and redis.call('ZCARD', P .. 'members:' .. batch.id) == 0 then
    end_batch(P, batch)
    return true
  end
end

-- A member has ended; `how` as in Jobs.ended(). A member that is not, or no longer, among those that have not ended
-- changes nothing. `id`: of the job that failed.
function Batches.member_ended(P, name, member, how, id)
  local batch = Batches.named(P, name)
  if not batch or not Batches.are_sound(P, batch.id)
      or redis.call('ZREM', P .. 'members:' .. batch.id, member) == 0 then
    return
  end
  count_batch(P, batch, how, 1)
  if how == 'failed' and id then
    note_first_failure(P, batch, id)
  end
  Batches.end_if_over(P, batch)
end

-- A batch that has ended has not, because a member of it begins again. Followers that were put stay.
function Batches.begin_again(P, batch)
  set_batch(P, batch, {state = 'closed', since = now_text()})
  redis.call('ZREM', P .. 'past', batch.id)
  redis.call('ZADD', P .. 'batches', '+inf', batch.id)
  if batch.batch then
    Batches.member_began(P, batch.batch, 'b' .. batch.id, batch.how)
  end
end

-- A member begins again that had ended so; `how` nil: that is not counted.
function Batches.member_began(P, name, member, how)
  local batch = Batches.named(P, name)
  if not batch or not Batches.are_sound(P, batch.id) or redis.call('ZSCORE', P .. 'members:' .. batch.id, member) then
    return
  end
  if how then
    count_batch(P, batch, how, -1)
  end
  redis.call('ZADD', P .. 'members:' .. batch.id, -count_batch(P, batch, 'again', 1), member)
  if batch.state == 'ended' then
    Batches.begin_again(P, batch)
  end
end

-- ---- members ----

-- Why nobody can join the batch, as an answer; or nil, and the batch.
function Batches.obstacle_to_join(P, id)
  local batch, is_none = Batches.read(P, id)
  if not batch then
    return is_none and {E_NOT_FOUND, 'batch', id} or {E_REDIS, P .. 'batch:' .. id}
  elseif not Batches.are_sound(P, id) then
    return {E_REDIS, damaged}
  elseif batch.state ~= 'open' then
    return {E_STATE, 'batch ' .. (batch.cancel and 'cancelled' or batch.state), id}
  end
  return nil, batch
end

-- Members, a list, join an open batch. Jobs or batches of these names may have been members before, and have ended.
function Batches.join(P, batch, members)
  local last, scored = count_batch(P, batch, 'members', #members), {}
  for i, member in ipairs(members) do
    scored[2 * i - 1], scored[2 * i] = last - #members + i, member
  end
  for from = 1, #scored, CHUNK do
    redis.call('ZADD', P .. 'members:' .. batch.id, unpack(scored, from, math.min(from + CHUNK - 1, #scored)))
  end
  redis.call('ZADD', P .. 'batches', 'XX', now_ms() + Jobs.number(batch, 'ttl'), batch.id)
end

-- What a put does to a job's batch: `given` has the id of one, `old` is the job that is changed, nil for a new one.
-- Returns why it cannot be, as an answer; or nil, and the batch that the job is to join. Then `given` has what its
-- record says.
-- `call` has the batches that others of its specs join.
function Batches.meant_by_put(P, given, old, call)
  local recurs = given.every or given.cron or (old and (old.every or old.cron))
  local present = old and old.batch and Batches.named(P, old.batch)
  local id = given.batch
  if recurs and (id or present) then
    return {E_STATE, 'recurs'}
  elseif not id then
    return nil
  elseif present then
    given.batch = nil
    return present.id ~= id and {E_STATE, 'member', present.id} or nil
  end
  call.batches = call.batches or {}
  local batch, obstacle = call.batches[id], nil
  if not batch then
    obstacle, batch = Batches.obstacle_to_join(P, id)
    call.batches[id] = batch
  end
  given.batch = batch and Batches.name(batch)
  return obstacle, batch
end

-- The jobs of specs join their batches.
function Batches.join_gathered(P, specs)
  local members_of = {}
  for _, spec in ipairs(specs) do
    local batch = spec.batch
    if batch then
      members_of[batch] = members_of[batch] or {}
      table.insert(members_of[batch], 'j' .. spec.id)
    end
  end
  for batch, members in pairs(members_of) do
    Batches.join(P, batch, members)
  end
end
