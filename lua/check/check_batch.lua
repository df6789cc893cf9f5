--[[
  check_batch: is a batch what its record says, and has it the members that its counts say?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] its id; there may be no more than remains of it
    ARGV[3] the place among its members to begin at; -1: look only whether the batch around it lists it
    ARGV[4] "1": compare its counts, and look whether it should have ended
  Returns {0, the place to go on from, -1: that was all; then for each find: its key, what is wrong, 1 if it was
  repaired}. A batch that has a key of the wrong type is passed over: that key is a find of its own.
  Looks at 100 members. Repairs the record, its counts, its members, the lists of batches, and what makes somebody go
  on; ends the batch, and puts its followers. Publishes to the workers that get these, and to those who listen.
  O(members).
]]
--- @include "finds"
--- @include "jobs"
--- @include "available"
--- @include "where"

local P, id, from = KEYS[1], ARGV[2], tonumber(ARGV[3])
local batches = Jobs.batches
local check = new_check(P, ARGV[1])
local key, members = P .. 'batch:' .. id, P .. 'members:' .. id
local PAGE = 100
local IS_BATCH_STATE = {open = true, closed = true, ended = true}

local function look_for_remains()
  if redis.call('EXISTS', members) == 1 then
    note_find(check, members, 'has the members of no batch', function()
      redis.call('DEL', members)
      return 'removed it'
    end)
  end
  for _, list in ipairs({P .. 'batches', P .. 'past'}) do
    if redis.call('ZSCORE', list, id) then
      note_find(check, list, "names the batch '" .. id .. "', which is not there", function()
        redis.call('ZREM', list, id)
        return 'removed it'
      end)
    end
  end
end

-- The place that a member names, or a new one.
local function find_place()
  for _, member in ipairs(redis.call('ZRANGE', members, 0, PAGE - 1)) do
    local kind = string.sub(member, 1, 1) == 'b' and 'batch:' or 'job:'
    local name = try('HGET', kind == 'job:' and P .. 'job:' .. string.sub(member, 2)
      or P .. 'batch:' .. string.sub(member, 2), 'batch')
    if name and string.sub(name, TOKEN_LEN + 1) == id then
      return string.sub(name, 1, TOKEN_LEN)
    end
  end
  local _, place = draw_tokens(P, 1)
  return place
end

local function find_state()
  local score = redis.call('ZSCORE', P .. 'batches', id)
  if redis.call('ZSCORE', P .. 'past', id) then
    return 'ended'
  end
  return score and tonumber(score) < math.huge and 'open' or 'closed'
end

-- The record, as far as it can be read or put right.
local function read_batch()
  local place, state = unpack(redis.call('HMGET', key, 'place', 'state'))
  local what = not (place and #place == TOKEN_LEN) and 'place' or not IS_BATCH_STATE[state or ''] and 'state'
  if what then
    note_find(check, key, "is a record without a valid '" .. what .. "'", function()
      redis.call('HSET', key, what, what == 'place' and find_place() or find_state())
      return 'set it right'
    end)
  end
  place, state = unpack(redis.call('HMGET', key, 'place', 'state'))
  return place and #place == TOKEN_LEN and IS_BATCH_STATE[state or ''] and batches.read(P, id) or nil
end

local function look_at_lists(batch)
  local score, past = redis.call('ZSCORE', P .. 'batches', id), redis.call('ZSCORE', P .. 'past', id)
  local at = tonumber(score or nil)
  local is_right = batch.state == 'ended' and past and not score
    or batch.state ~= 'ended' and not past and at and (at == math.huge) == (batch.state == 'closed')
  if not is_right then
    note_find(check, key, 'is not in the list of batches where it should be', function()
      local ttl = math.max(1000, Jobs.number(batch, 'ttl'))
      if batch.state == 'ended' then
        redis.call('ZREM', P .. 'batches', id)
        redis.call('ZADD', P .. 'past', now_ms(), id)
      else
        redis.call('ZREM', P .. 'past', id)
        redis.call('ZADD', P .. 'batches', batch.state == 'closed' and '+inf' or now_ms() + ttl, id)
      end
      return 'put it there'
    end)
  end
end

local function look_at_counts(batch)
  local sum = redis.call('ZCARD', members)
  for _, what in ipairs({'complete', 'failed', 'cancelled', 'gone'}) do
    sum = sum + math.max(0, Jobs.number(batch, what))
    if batch[what] and not whole(batch[what]) then
      note_find(check, key, "has '" .. string.sub(batch[what], 1, 40) .. "' for " .. what .. ', which is no count',
      function()
        redis.call('HDEL', key, what)
        return 'removed it'
      end)
    end
  end
  if whole(batch.members) ~= sum then
    note_find(check, key, 'counts ' .. string.sub(batch.members or 'no', 1, 40) .. ' members, but has or had ' .. sum,
    function()
      redis.call('HSET', key, 'members', string.format('%.0f', sum))
      return 'counted again'
    end)
  end
end

-- How a member has ended that is still listed; nil: it has not, or nobody knows.
local function end_of_member(batch, member)
  local one, is_none
  if string.sub(member, 1, 1) == 'b' then
    one, is_none = batches.read(P, string.sub(member, 2))
  else
    one = where_is(P, string.sub(member, 2))
    is_none = one == false
  end
  if one and one.batch == batches.name(batch) then
    return (one.state == 'ended' and (one.how or 'gone'))
      or ((one.state == 'complete' or one.state == 'failed') and one.state) or nil
  end
  return (one or is_none) and 'gone' or nil
end

local function look_at_members(batch)
  local page, stray = redis.call('ZRANGE', members, from, from + PAGE - 1), {}
  for _, member in ipairs(page) do
    local how = end_of_member(batch, member)
    if how then
      stray[#stray + 1] = {member, how}
    end
  end
  if #stray > 0 then
    note_find(check, members, 'has ' .. plural(#stray, 'member') .. ' that have ended, are gone, or are no members',
    function()
      for _, one in ipairs(stray) do
        batches.member_ended(P, batches.name(batch), one[1], one[2], string.sub(one[1], 2))
      end
      return 'counted them as ended'
    end)
  end
  return #page == PAGE and from + PAGE - (check.repair and #stray or 0) or -1
end

-- A batch that has not ended is a member of the one around it.
local function look_at_parent(batch)
  local parent = batch.batch and batch.state ~= 'ended' and batches.named(P, batch.batch)
  if parent and try('ZSCORE', P .. 'members:' .. parent.id, 'b' .. id) == false then
    note_find(check, key, "is a member of the batch '" .. parent.id .. "', which does not list it", function()
      batches.member_began(P, batch.batch, 'b' .. id)
      return 'listed it'
    end)
  end
end

-- What nobody else would do any more.
local function look_at_end(batch)
  local n = redis.call('ZCARD', members)
  if batch.state == 'ended' and n > 0 then
    note_find(check, key, 'has ended, but ' .. plural(n, 'member') .. ' of it have not', function()
      batches.begin_again(P, batch)
      return 'it has not ended'
    end)
  elseif batch.state == 'closed' and n == 0 then
    note_find(check, key, 'is closed, and all of its members have ended, but it has not', function()
      batches.end_if_over(P, batch)
      return 'ended it'
    end)
  end
  for _, which in ipairs(batches.FOLLOWERS) do
    if batches.owes(batch, which) and not redis.call('ZSCORE', P .. 'ended', 'b' .. id) then
      note_find(check, key, 'has not put the job that follows its ' .. which, function()
        batches.put_owed(P, batch)
        return batches.owes(batch, which) and 'noted it' or 'put it'
      end)
    end
  end
end

local function look_at_due(batch)
  if batch.from and not redis.call('ZSCORE', P .. 'ended', 'k' .. id) then
    note_find(check, key, 'is being cancelled, but nobody goes on', function()
      batches.go_on_later(P, 'k', batch, now_ms())
      return 'noted it'
    end)
  end
  local due, at = try('ZSCORE', P .. 'due', ''), math.huge
  for _, one in ipairs({{P .. 'batches', id}, {P .. 'ended', 'b' .. id}, {P .. 'ended', 'k' .. id}}) do
    at = math.min(at, tonumber(redis.call('ZSCORE', unpack(one)) or nil) or math.huge)
  end
  if at < math.huge and due ~= nil and (tonumber(due or nil) or math.huge) > at then
    note_find(check, P .. 'due', "has the batch '" .. id .. "' too late or not at all", function()
      batches.note_due(P, at)
      return 'set it right'
    end)
  end
end

check.answer[2] = -1
if not (try('HLEN', key) and batches.are_sound(P, id)) then
  return check.answer
elseif from < 0 then
  local known = batches.read(P, id)
  if known then
    look_at_parent(known)
  end
  return check.answer
elseif redis.call('EXISTS', key) == 0 then
  look_for_remains()
  return check.answer
end
local batch = read_batch()
if batch and from == 0 then
  look_at_lists(batch)
  look_at_due(batch)
end
if batch and from == 0 and ARGV[4] == '1' then
  look_at_counts(batch)
end
if batch then
  check.answer[2] = look_at_members(batch)
  batch = batches.read(P, id)
end
if batch and check.answer[2] == -1 and ARGV[4] == '1' then
  look_at_end(batch)
end
hand_over_jobs(P)
return check.answer
