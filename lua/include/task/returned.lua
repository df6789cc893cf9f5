--[[
  What came back: processes whose holder is gone, or gave them back. They come out before all that waits in the queue,
  in the order in which they were taken from it, in however many steps they came back. P:returned:<q> has
  "<field>:<home>", by the token of the process; or if the task had come back before and was taken again, by its first
  token, which P:firsts:<w>:<q> keeps for the processes of a set. The home is where its bytes lie: P:home:<home>:<q>,
  the in-process set of a life that ended, under a new name, so that no byte is moved; or "-", where those lie that came
  back one by one. A job has its token as a negative number: jobs do not stay here, but go to their place in the queue,
  some in each script.
]]
--- @include "bytes"
--- @include "chunk"
--- @include "fields"
--- @include "suspects"
--- @include "types"

local NO_HOME = '-'

-- Notes that n bytes are moved. False, and nothing is noted, if that would be too much for one script.
local function may_move(n)
  if moved_bytes > 0 and moved_bytes + n > BYTES_MAX then
    return false
  end
  moved_bytes = moved_bytes + n
  return true
end

-- Of tasks and of jobs: the score of a field. A field that is no token comes first.
local function score_of(field)
  local number = (#field == TOKEN_LEN or is_job_field(field)) and token_number(token_of(field)) or 0
  return is_job_field(field) and -number or number
end

local function home_key(P, home, queue)
  return P .. 'home:' .. home .. ':' .. queue
end

-- Have the keys of what came back the right types?
local function can_return(P, queue)
  return have_types({'ZCARD', P .. 'returned:' .. queue, 'HLEN', home_key(P, NO_HOME, queue),
    'HLEN', P .. 'suspects:' .. queue})
end

-- Where a holder's processes of a queue were taken from it first: token -> number. Without the key, if it has a wrong
-- type, or for what is no number, their own tokens say it. `token`: that one alone.
local function firsts_key(P, worker, queue)
  return P .. 'firsts:' .. worker .. ':' .. queue
end

local function read_firsts(P, worker, queue, token)
  local key, firsts = firsts_key(P, worker, queue), {}
  local flat = token and {token, try('HGET', key, token) or ''} or try('HGETALL', key) or {}
  for i = 1, #flat, 2 do
    firsts[flat[i]] = tonumber(string.match(flat[i + 1], '^%d+$'))
  end
  return firsts
end

-- Plain finishes do not look for these entries. So they are looked through when they are many more than processes.
local FIRSTS_SPARE = 1000
local function note_first(P, worker, queue, token, first)
  local key, set = firsts_key(P, worker, queue), P .. 'processing:' .. worker .. ':' .. queue
  if not try('HSET', key, token, string.format('%.0f', first)) then
    return
  end
  if redis.call('HLEN', key) > 2 * redis.call('HLEN', set) + FIRSTS_SPARE then
    for _, old in ipairs(redis.call('HKEYS', key)) do
      if redis.call('HEXISTS', set, old) == 0 then
        redis.call('HDEL', key, old)
      end
    end
  end
end

-- Notes that fields came back into a home. `firsts`: of read_firsts().
local function add_returned(P, queue, home, fields, firsts)
  local args = {}
  for i, field in ipairs(fields) do
    args[#args + 1] = string.format('%.0f', firsts[field] or score_of(field))
    args[#args + 1] = field .. ':' .. home
    if #args >= CHUNK or i == #fields then
      redis.call('ZADD', P .. 'returned:' .. queue, unpack(args))
      args = {}
    end
  end
  if #fields > 0 then
    redis.call('HSET', P .. 'queue:' .. queue, 'returned', '1')
  end
end

-- One task came back from a holder.
local function return_task(P, worker, queue, field, task)
  local firsts = read_firsts(P, worker, queue, field)
  redis.call('HSET', home_key(P, NO_HOME, queue), field, task)
  add_returned(P, queue, NO_HOME, {field}, firsts)
  if firsts[field] then
    redis.call('HDEL', firsts_key(P, worker, queue), field)
  end
end

-- Where members were met whose home has a wrong type: those stay, and this script passes over them. So it counts them
-- no more, and looks behind them. Queue -> how many tasks, how many jobs; after `most` the others of the queue stay,
-- too. One table, because a script may have 200 names at once.
local Passed = {most = 1000, tasks = {}, jobs = {}}

function Passed.add(passed, queue)
  local n = (passed[queue] or 0) + 1
  passed[queue] = n < Passed.most and n or math.huge
end

-- How many tasks came back; and how many jobs that have not gone to their place yet.
local function count_returned(P, queue)
  local all = try('ZCARD', P .. 'returned:' .. queue) or 0
  local jobs = all > 0 and redis.call('ZCOUNT', P .. 'returned:' .. queue, '-inf', '(0') or 0
  return math.max(0, all - jobs - (Passed.tasks[queue] or 0)), math.max(0, jobs - (Passed.jobs[queue] or 0))
end

-- Takes a member out, whose bytes are elsewhere by now.
local function remove_returned(P, queue, member, field, home)
  redis.call('HDEL', home_key(P, home, queue), field)
  redis.call('ZREM', P .. 'returned:' .. queue, member)
end

-- After something was taken out: if nothing is left, removes the field that makes takes look here.
local function clear_if_none_returned(P, queue)
  if redis.call('EXISTS', P .. 'returned:' .. queue) == 0 then
    redis.call('HDEL', P .. 'queue:' .. queue, 'returned')
  end
end

-- The keys that hold a worker's processes of a queue: its set, and the homes of its former lives that it has not taken
-- up yet. A key of the wrong type may be among them.
local function keys_of_holder(P, worker, queue)
  local keys = {P .. 'processing:' .. worker .. ':' .. queue}
  for home in string.gmatch(try('HGET', P .. 'worker:' .. worker, 'r:' .. queue) or '', '%S+') do
    keys[#keys + 1] = home_key(P, home, queue)
  end
  return keys
end

local function parse_returned(member)
  return string.match(member, '^(.*):(.-)$')
end

-- The member of a field among what came back; nil if it is not there. A task may have come back before, so then all are
-- looked through.
local function returned_member(P, queue, field)
  local key, score = P .. 'returned:' .. queue, string.format('%.0f', score_of(field))
  for _, range in ipairs({{score, score}, {'0', '+inf'}}) do
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, range[1], range[2])) do
      if parse_returned(member) == field then
        return member
      end
    end
    if is_job_field(field) then
      break
    end
  end
end

-- The next one out: {member, field, home, task, first, suspect = its entry or false}. It stays where it is. Nil if
-- there is none; the second value: is it too much for one script?
local function first_returned(P, queue)
  local key = P .. 'returned:' .. queue
  while (Passed.tasks[queue] or 0) < Passed.most do
    local member, score = unpack(redis.call('ZRANGEBYSCORE', key, 0, '+inf', 'WITHSCORES', 'LIMIT',
      Passed.tasks[queue] or 0, 1))
    if not member then
      return nil, false
    end
    local field, home = parse_returned(member)
    local task = field and try('HGET', home_key(P, home, queue), field)
    if task == nil and field then
      Passed.add(Passed.tasks, queue)
    elseif task and not may_move(#task) then
      return nil, true
    elseif task then
      -- this script may have added some
      local suspect = redis.call('EXISTS', P .. 'suspects:' .. queue) == 1
        and redis.call('HGET', P .. 'suspects:' .. queue, field)
      return {member = member, field = field, home = home, task = task, first = tonumber(score), suspect = suspect}
    else
      redis.call('ZREM', key, member) -- damage: there is no task
    end
  end
  return nil, false
end

-- The next task: one that came back, as first_returned() says, which stays where it is; or {task} of the first of the
-- list, which is taken from it. Nil if there is none. The second value: is it too much for this script?
local function next_task(P, queue, has_returned)
  if has_returned then
    local item, is_cut = first_returned(P, queue)
    if item or is_cut then
      return item, is_cut
    end
  end
  local task = redis.call('RPOP', P .. 'queues:' .. queue)
  if task and not may_move(#task) then
    redis.call('RPUSH', P .. 'queues:' .. queue, task)
    return nil, true
  end
  return task and {task = task} or nil, false
end

-- An item of first_returned() is in other hands now, under this token.
local function leave_returned(P, worker, queue, item, token)
  note_first(P, worker, queue, token, item.first)
  if item.suspect then
    redis.call('HSET', P .. 'suspects:' .. queue, token, item.suspect)
    redis.call('HDEL', P .. 'suspects:' .. queue, item.field)
  end
  remove_returned(P, queue, item.member, item.field, item.home)
end
