--[[
  untake: give back what a call of `take` took, whose answer did not come. If that call comes only after this one, it
  takes nothing.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] the call's name, as `take` got it
    ARGV[3] how many bytes it must have taken; with fewer nothing is changed
  Returns {0, how many processes went back, 1: there may be more, call again; else 0; how many bytes they had, as `take`
  counts them}; {E_REDIS, key} for a key of the wrong type: nothing was changed.
  The processes go back as by "back" of the include `ends`, and the caller had none of them: nothing of it counts, and a
  suspect has not begun. What has ended meanwhile, or came back because its lease lapsed, stays where it is.
  Writes as these ends require; also the leases' ends and holders, the count `running`, and the caller's and the call's
  keys.
  Publishes to the workers that get what came back, and to those who listen. O(200 log n), and with ARGV[3] O(1000).
]]
--- @include "ends"
--- @include "available"
--- @include "clock"
--- @include "calls"

local P, queue, call = KEYS[1], ARGV[1], ARGV[2]
local set, taken = P .. 'processing:' .. LEASE .. ':' .. queue, P .. 'take:' .. caller_of(call)

-- One call gives back at most this many processes.
local UNTAKEN_MAX = 200
-- Between the first token of a take and its last one lie few others. By hand they may be any, and nobody would be done.
local SPAN_MAX = 100000

-- The next tokens of the call: its first one, its last one; nil if it took nothing, or did not come.
local function tokens_of_call()
  local name, first, last = string.match(try('GET', taken) or '', '^(%S+) (%w+) (%w+)$')
  if name ~= call or #first ~= TOKEN_LEN or #last ~= TOKEN_LEN then
    return nil
  end
  local from, to = token_number(first), token_number(last)
  if from and to and to - from < SPAN_MAX then
    return from, to
  end
end

local function bytes_of(task, job)
  if task then
    return #task
  end
  local flat = job and try('HGETALL', P .. 'job:' .. job) or {}
  --- @inline "record_bytes"
  return n_bytes
end

-- Those of n tokens that are still held; and how many bytes these have.
local function held_of(first, n)
  local tokens, fields = {}, {}
  for number = first, first + n - 1 do
    local token = token_text(number)
    tokens[#tokens + 1] = token
    fields[#fields + 1] = token
    fields[#fields + 1] = 'j' .. token
  end
  local values, held, n_bytes = redis.call('HMGET', set, unpack(fields)), {}, 0
  for i, token in ipairs(tokens) do
    local task, job = values[2 * i - 1], values[2 * i]
    held[#held + 1] = (task or job) and token or nil
    n_bytes = n_bytes + bytes_of(task, job)
  end
  return held, n_bytes
end

-- Have all that the call took at least so many bytes?
local function have_bytes(first, last, least)
  local sum = 0
  while first <= last and sum < least do
    local _, n_bytes = held_of(first, math.min(last - first + 1, UNTAKEN_MAX))
    first, sum = first + UNTAKEN_MAX, sum + n_bytes
  end
  return sum >= least
end

-- Ends them. False if a key has the wrong type.
local function give_back(tokens)
  if #tokens == 0 then
    return true
  end
  local ends = carry_out_ends(P, LEASE, {'back', queue, #tokens, unpack(tokens)}, 1, true, now_ms())
  if ends.failed[1] then
    return false
  end
  for _, token in ipairs(tokens) do
    redis.call('ZREM', P .. 'leases:' .. queue, token, 'j' .. token)
    --- @inline "forget_holder"
  end
  try('HINCRBY', P .. 'queue:' .. queue, 'running', -#tokens)
  return true
end

if not can_move_due(P, queue, 'HLEN', P .. 'holders:' .. queue) then
  return {E_REDIS, damaged}
end
redis.call('HDEL', P .. 'queue:' .. queue, '-') -- needs no memory, so that a full Redis allows the others
local first, last = tokens_of_call()
if not have_bytes(first or 1, last or 0, tonumber(ARGV[3] or 0)) then
  return {0, 0, 0, 0}
end
local n = first and math.min(last - first + 1, UNTAKEN_MAX) or 0
local held, n_bytes = {}, 0
if n > 0 then
  held, n_bytes = held_of(first, n)
end
if not give_back(held) then
  return {E_REDIS, damaged}
end
local is_more = n > 0 and first + n <= last
if is_more then
  redis.call('SET', taken, call .. ' ' .. token_text(first + n) .. ' ' .. token_text(last), 'KEEPTTL')
elseif n > 0 then
  redis.call('DEL', taken)
end
redis.call('SET', P .. 'take:' .. call, 'void', 'NX', 'PX', VOID_KEPT_MS)
hand_over_waiting(P, queue)
hand_over_jobs(P)
return {0, #held, is_more and 1 or 0, n_bytes}
