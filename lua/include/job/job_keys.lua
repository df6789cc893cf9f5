--[[
  Keys: at most `max_running_per_key` jobs of one key run at once in a queue. P:keyed:<q> has all jobs of a key that
  run, wait or are held, with the score 0, so they are in the order of their bytes:
    <length of the key, 3 digits><key><r, w or h><priority + 2^31, 10 digits><place><id>
  Of those that run the priority is ten zeros, because it may change meanwhile. So a key's jobs of one state stand
  together, in the order in which they are to run, and are counted without being read.

  A job that would come to wait is held instead if as many of its key run or wait as may run. So a held job blocks
  nobody, and this always holds: if a job is held, so many others of its key run or wait, or `unhold` says that somebody
  is still to look. Whatever leaves a place calls settle(), by save(). Being held is waiting: `since` and place stay.
  What comes to wait without being asked, because the limit is new, is held by the take that meets it.

  In a fair queue keys take turns, and what has no key is of the key "". A job that comes to wait joins the round after
  the one that is being taken, or after that of the job of its key before it, whichever is later: so nobody joins a
  round once it is being taken, but what comes back. What waits without a round, because the setting is new, is behind
  all rounds of its priority. `unfair` says from which priority on somebody is still to give rounds to such jobs. As
  long as there are some, new ones get in line behind them. A piece of jobs.
]]
--- @within "jobs"

-- `left`: how many more jobs this script may hold or release.
Keys.left = 300
local LETTER = {running = 'r', waiting = 'w', held = 'h'}
local STATE_OF = {r = 'running', w = 'waiting', h = 'held'}
local PRIORITY_LEN, LENGTH_LEN, PRIORITY_ZERO = 10, 3, 2 ^ 31

local function head_of(key, letter)
  return string.format('%03d', #key) .. key .. letter
end

-- What stands in P:keyed of a job in this state.
function Keys.member(job, state)
  local priority = math.max(0, math.min(2 ^ 32 - 1, math.floor(number(job, 'priority')) + PRIORITY_ZERO))
  return head_of(job.key or '', LETTER[state]) .. string.format('%010.0f', state == 'running' and 0 or priority)
    .. job.place .. job.id
end

-- {key, state, priority, place, id}; nil if it is none.
function Keys.parse(member)
  local length = tonumber(string.match(member, '^%d%d%d'))
  local at = length and LENGTH_LEN + length + 1
  local state = length and STATE_OF[string.sub(member, at, at)]
  local priority = state and tonumber(string.match(string.sub(member, at + 1, at + PRIORITY_LEN), '^%d+$'))
  local place_at = priority and at + 1 + PRIORITY_LEN
  if place_at and #member > place_at - 1 + TOKEN_LEN then
    return {key = string.sub(member, LENGTH_LEN + 1, at - 1), state = state, priority = priority,
      place = string.sub(member, place_at, place_at + TOKEN_LEN - 1), id = string.sub(member, place_at + TOKEN_LEN)}
  end
end

function Keys.count(P, queue, key, state)
  local letter = LETTER[state]
  return redis.call('ZLEXCOUNT', P .. 'keyed:' .. queue, '[' .. head_of(key, letter),
    '(' .. head_of(key, string.char(string.byte(letter) + 1)))
end

-- The one at the end of a range where the command begins. What is no member goes when it is met.
local function find_member(P, queue, command, from, to)
  local keyed = P .. 'keyed:' .. queue
  local member = redis.call(command, keyed, from, to, 'LIMIT', 0, 1)[1]
  while member and not Keys.parse(member) do
    redis.call('ZREM', keyed, member)
    member = redis.call(command, keyed, from, to, 'LIMIT', 0, 1)[1]
  end
  return member
end

local function first_of(P, queue, key, state)
  local letter = LETTER[state]
  return find_member(P, queue, 'ZRANGEBYLEX', '[' .. head_of(key, letter),
    '(' .. head_of(key, string.char(string.byte(letter) + 1)))
end

local function last_of(P, queue, key, state)
  local letter = LETTER[state]
  return find_member(P, queue, 'ZREVRANGEBYLEX', '(' .. head_of(key, string.char(string.byte(letter) + 1)),
    '[' .. head_of(key, letter))
end

local limits = {}
function Keys.limit(P, queue)
  if not limits[queue] then
    local most = whole(try('HGET', P .. 'queue:' .. queue, 'max_running_per_key') or nil) or 0
    limits[queue] = most > 0 and most or math.huge
  end
  return limits[queue]
end

-- As many of a key as run or will.
function Keys.taken(P, queue, key)
  return Keys.count(P, queue, key, 'running') + Keys.count(P, queue, key, 'waiting')
end

-- The state in which a job of a key comes to wait.
function Keys.state_to_wait(P, job)
  local most = Keys.limit(P, job.queue)
  return most < math.huge and Keys.taken(P, job.queue, job.key) >= most and 'held' or 'waiting'
end

-- A job enters a state, and its record says so by now.
function Keys.enter(P, job, state)
  job.keyed = Keys.member(job, state)
  redis.call('ZADD', P .. 'keyed:' .. job.queue, 0, job.keyed)
  if not job.key then
    return
  elseif state == 'running' then
    job.unsettled = nil -- it has taken the place that it left
  elseif state == 'held' then
    Keys.note_unsettled(job)
  end
end

-- A job's key is to be settled when its record is saved.
function Keys.note_unsettled(job)
  job.unsettled = job.unsettled or {}
  table.insert(job.unsettled, {job.queue, job.keyed})
end

function Keys.leave(P, job)
  redis.call('ZREM', P .. 'keyed:' .. job.queue, job.keyed)
  if job.state ~= 'held' and string.sub(job.keyed, 1, LENGTH_LEN) ~= '000' then -- its key may be another one by now
    Keys.note_unsettled(job)
  end
  job.keyed = nil
end

-- A job is held, or waits again. It has waited all the time.
local function shift(P, job, state)
  local since = job.since
  Keys.left = Keys.left - 1
  leave(P, job)
  Jobs.set(job, 'round', nil)
  enter(P, job, state, number(job, 'priority'))
  job.since, job.changed.since, job.unsettled = since, nil, nil
  Jobs.save(P, job)
  if state == 'waiting' then
    note_jobs_wait(P, job.queue)
  end
end

-- The same for one of P:keyed. One whose record says something else goes from there.
local function shift_member(P, queue, member, state)
  local job = Jobs.read_head(P, Keys.parse(member).id)
  if job and job.queue == queue and job.keyed == member then
    shift(P, job, state)
  else
    Keys.left = Keys.left - 1
    redis.call('ZREM', P .. 'keyed:' .. queue, member)
  end
end

-- Must the job, which waits and is to be taken, be held instead? "held": it is now; "cut": it must be, but by another
-- script. Nil: it may be taken.
function Keys.hold_back(P, job)
  if Keys.count(P, job.queue, job.key, 'running') < Keys.limit(P, job.queue) then
    return nil
  elseif Keys.left <= 0 then
    return 'cut'
  end
  shift(P, job, 'held')
  return 'held'
end

local function is_before(member, other)
  local a, b = Keys.parse(member), Keys.parse(other)
  if a.priority ~= b.priority then
    return a.priority < b.priority
  end
  return token_number(a.place) < token_number(b.place)
end

-- Somebody is to look at all keys of the queue: more may run than before, or it was too much for one script.
function Keys.look_at_all(P, queue)
  redis.call('HSET', P .. 'queue:' .. queue, 'unhold', '')
  note_due(P, queue, now_ms())
end

-- Releases held jobs of a key as far as there are places, the first ones first; and has the first ones wait.
function Keys.settle(P, queue, key)
  local most, first = Keys.limit(P, queue), first_of(P, queue, key, 'held')
  local taken = first and Keys.taken(P, queue, key)
  while first do
    local last = taken >= most and last_of(P, queue, key, 'waiting')
    if last == nil or (last and not is_before(first, last)) then
      return
    elseif Keys.left <= 0 then
      return Keys.look_at_all(P, queue)
    end
    shift_member(P, queue, last or first, last and 'held' or 'waiting')
    taken = taken + (last and -1 or 1)
    first = first_of(P, queue, key, 'held')
  end
end

-- Settles what a job has left and where it has come to, once its record says so. A script that has read several jobs
-- before it changes the first sets Keys.deferred = {}: otherwise one of them could be held or released unseen.
function Keys.settle_left(P, job)
  local all = job.unsettled
  job.unsettled = nil
  for _, one in ipairs(all) do
    if Keys.deferred then
      table.insert(Keys.deferred, one)
    else
      Keys.settle(P, one[1], Keys.parse(one[2]).key)
    end
  end
end

-- All of its jobs are changed.
function Keys.settle_deferred(P)
  local all = Keys.deferred
  Keys.deferred = false
  for _, one in ipairs(all) do
    Keys.settle(P, one[1], Keys.parse(one[2]).key)
  end
end

-- Goes on with looking at all keys of the queue. Returns whether there are more.
function Keys.go_on(P, queue)
  local key, keyed = P .. 'queue:' .. queue, P .. 'keyed:' .. queue
  local from = redis.call('HGET', key, 'unhold')
  if redis.call('EXISTS', P .. 'held:' .. queue) == 0 then -- what was held has gone meanwhile
    redis.call('HDEL', key, 'unhold')
    return false
  end
  while from and Keys.left > 0 do
    local member = redis.call('ZRANGEBYLEX', keyed, from == '' and '-' or '(' .. from, '+', 'LIMIT', 0, 1)[1]
    if not member then
      redis.call('HDEL', key, 'unhold')
      return false
    end
    local one = Keys.parse(member)
    Keys.left = Keys.left - 1
    if one then
      Keys.settle(P, queue, one.key)
    end
    if Keys.left > 0 then -- otherwise the next script looks at this key again
      from = one and head_of(one.key, '\255') or member
    end
  end
  if from then
    redis.call('HSET', key, 'unhold', from)
  end
  return from and true or false
end

-- The round of the first or the last job that waits with a priority, by the command that finds it; nil if it has none.
-- And does one wait?
local function round_at_end(index, command, score)
  local member = redis.call(command, index, score, score, 'LIMIT', 0, 1)[1]
  local len = member and round_len(member) or 0
  return len > 0 and token_number(string.sub(member, 2, len)) or nil, member ~= nil
end

-- The round of the job of the same key and priority that waits before a job, or after it; nil if it has none. And does
-- one wait? One whose record cannot be read does not count: it never comes out.
local function round_beside(P, job, is_after)
  local keyed, own = P .. 'keyed:' .. job.queue, Keys.member(job, 'waiting')
  local head = string.sub(own, 1, #own - #job.place - #job.id)
  local member
  if is_after then
    member = redis.call('ZRANGEBYLEX', keyed, '(' .. own, '(' .. head .. '\255', 'LIMIT', 0, 1)[1]
  else
    member = redis.call('ZREVRANGEBYLEX', keyed, '(' .. own, '[' .. head, 'LIMIT', 0, 1)[1]
  end
  local other = member and Keys.parse(member)
  local value = other and try('HGET', P .. 'job:' .. other.id, 'round')
  local round = value and round_of(value)
  return round and token_number(round), value ~= nil
end

-- The round of a job that is to wait, by the rules above; nil: none. One that has been in a round comes back. No job is
-- in a round while one of its key before it is in none: that one would come out later.
local function round_to_join(P, job, index, score)
  local is_fair, now = Jobs.is_fair(P, job.queue), round_at_end(index, 'ZRANGEBYSCORE', score)
  local before, waits = round_beside(P, job)
  if (waits and not before) or (not is_fair and not (job.round and now)) then
    return nil
  elseif job.round then
    return before or now or 0
  end
  local last, is_line = round_at_end(index, 'ZREVRANGEBYSCORE', score)
  if job.is_last and is_line and not last then
    return nil
  end
  local round = math.max(now or -1, before or -1) + 1
  return job.is_last and round or math.min(round, round_beside(P, job, true) or round)
end

function Keys.join_round(P, job, score)
  Jobs.write_moves()
  local round = round_to_join(P, job, Jobs.index(P, 'waiting', job.queue), string.format('%.0f', score))
  Jobs.set(job, 'round', round and token_text(round))
end

-- The queue is fair from now on: what waits already is to get rounds.
function Keys.begin_rounds(P, queue)
  redis.call('HSET', P .. 'queue:' .. queue, 'unfair', '-inf')
  note_due(P, queue, now_ms())
end

-- Gives rounds to those of a priority that have none, the first ones first. Returns whether all have one.
local function give_rounds_of(P, queue, index, score)
  local low = redis.call('ZCOUNT', index, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', index, score, score)
  local all = high
  while low < high do -- those without a round are behind those with one
    local middle = math.floor((low + high) / 2)
    if round_len(redis.call('ZRANGE', index, middle, middle)[1]) > 0 then
      low = middle + 1
    else
      high = middle
    end
  end
  local members = redis.call('ZRANGE', index, low, math.min(all, low + Keys.left) - 1)
  for _, member in ipairs(members) do
    local job = Jobs.read_head(P, Jobs.id_of(member))
    if job and job.queue == queue and job.state == 'waiting' and Jobs.member(job) == member then
      shift(P, job, 'waiting')
    else
      Keys.left = Keys.left - 1
      Jobs.of_member(P, 'waiting', queue, member)
    end
  end
  return low + #members == all
end

-- Goes on with giving rounds. Returns whether there are more to give.
function Keys.give_rounds(P, queue)
  local key, index = P .. 'queue:' .. queue, Jobs.index(P, 'waiting', queue)
  local from = range_from(redis.call('HGET', key, 'unfair'))
  while Keys.left > 0 do
    local score = Jobs.is_fair(P, queue)
      and redis.call('ZRANGEBYSCORE', index, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    if not score then
      redis.call('HDEL', key, 'unfair')
      return false
    end
    Keys.left = Keys.left - 1
    from = give_rounds_of(P, queue, index, score) and '(' .. score or score
  end
  redis.call('HSET', key, 'unfair', from)
  return true
end
