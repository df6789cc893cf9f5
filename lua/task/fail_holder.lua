--[[
  fail_holder: give back what a holder has taken under its name. Its leases end, and count as given back: who fails a
  holder knows that it is gone, and not that a task was the cause. A lease that is over by now lapses, as always.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] the holder's name     ARGV[2] the place among its processes to begin at
  Returns {0, how many processes went back, the place to go on from, -1: that was all, how many were looked at, "" or a
  key of a wrong type, because of which processes were passed over}; {E_REDIS, key} if it has the holder's own list:
  nothing was changed.
  One call ends processes of one queue, that of the first one, at most 200, and moves at most 4 MiB, or one larger one.
  Those that are marked are dropped.
  Writes as these ends require; also the leases' ends, the count `running`, P:holders and P:holds. Publishes to the
  workers that get what came back, and to those who listen. O(200 log n).
]]
--- @include "ends"
--- @include "available"
--- @include "clock"
--- @include "bytes"

local P, holder, from = KEYS[1], ARGV[1], tonumber(ARGV[2])
local list, now = P .. 'holds:' .. holder, now_ms()
local PAGE = 200

-- Those from the place on: {token, queue, member} each. By hand a member may have another form.
local function read_page()
  local page = {}
  for i, member in ipairs(redis.call('ZRANGE', list, from, from + PAGE - 1)) do
    page[i] = {string.sub(member, 1, TOKEN_LEN), string.sub(member, TOKEN_LEN + 2), member}
  end
  return page
end

if not try('ZCARD', list) then
  return {E_REDIS, damaged}
end
local page = read_page()
if #page == 0 then
  return {0, 0, -1, 0, ''}
end
local queue = page[1][2]
local set = P .. 'processing:' .. LEASE .. ':' .. queue

-- The others are of no interest now.
local function pass_queue()
  local n = 0
  while n < #page and page[n + 1][2] == queue do
    n = n + 1
  end
  return {0, 0, from + n, n, damaged}
end

-- The tokens of the queue's processes, as many as one script may move. What has no process is forgotten.
local function find_held()
  local tokens = {}
  for _, one in ipairs(page) do
    local token = one[1]
    if one[2] == queue then
      local is_task = redis.call('HEXISTS', set, token) == 1
      local len = is_task and redis.call('HSTRLEN', set, token) or 0
      if not is_task and redis.call('HEXISTS', set, 'j' .. token) == 0 then
        redis.call('ZREM', list, one[3])
      elseif moved_bytes > 0 and moved_bytes + len > BYTES_MAX then
        return tokens, true
      else
        tokens[#tokens + 1], moved_bytes = token, moved_bytes + len
      end
    end
  end
  return tokens, false
end

local function count_marked(tokens)
  local n = 0
  for _, kind in ipairs(has_marks(P, LEASE) and redis.call('HMGET', P .. 'marks:' .. LEASE, unpack(tokens)) or {}) do
    n = n + (kind and 1 or 0)
  end
  return n
end

if not can_move_due(P, queue, 'HLEN', P .. 'holders:' .. queue) then
  return pass_queue()
end
redis.call('HDEL', P .. 'queue:' .. queue, '-') -- needs no memory, so that a full Redis allows the others
if (tonumber(redis.call('HGET', P .. 'queue:' .. queue, 'due') or nil) or math.huge) <= now then
  move_due(P, queue, now)
end
local tokens, is_cut = find_held()
local marked = #tokens > 0 and count_marked(tokens) or 0
if #tokens > 0 then
  local ends = carry_out_ends(P, LEASE, {'back', queue, #tokens, unpack(tokens)}, 1, true, now)
  if ends.failed[1] then
    return pass_queue()
  end
  for _, token in ipairs(tokens) do
    redis.call('ZREM', P .. 'leases:' .. queue, token, 'j' .. token)
    --- @inline "forget_holder"
  end
  try('HINCRBY', P .. 'queue:' .. queue, 'running', -#tokens)
end
hand_over_waiting(P, queue)
hand_over_jobs(P)
local is_all = not is_cut and redis.call('ZCARD', list) <= from
return {0, #tokens - marked, is_all and -1 or from, #page, ''}
