--[[
  upgrade_keys: move some keys from layout 1 to this one. A key that is moved already, or has a wrong type, stays as it
  is; so a call may be repeated.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] what P:format says during an upgrade     ARGV[2...] keys, without the root
  Returns {0, number of keys that are done, number of them that were changed, number of jobs that were moved}: the
  caller sends the others again. With many jobs to move no key may be done yet. {E_STATE} if no upgrade is under way.
  Counts of crashes go, because deaths are counted in another way. Queues where tasks wait are marked as such that may
  have large ones. The jobs that wait for a job come into the order of their places.
  Writes these keys, the queues' settings and P:names. Publishes nothing. O(keys, and at most 1 000 jobs).
]]
--- @include "chunk"
--- @include "clock"
--- @include "token"
--- @include "try"

local P = KEYS[1]
local jobs_left = CHUNK

local function drop_counts(key, queue)
  local had = try('HDEL', P .. 'queue:' .. queue, 'crashes') == 1
  return try('HLEN', key) and redis.call('UNLINK', key) == 1 or had
end

local function mark_big(_, queue)
  local is_new = try('HSET', P .. 'queue:' .. queue, 'big', '1') == 1
  return is_new and try('ZADD', P .. 'names', 'NX', now_ms(), queue) ~= nil
end

-- A set is moved in pieces: what was moved so far lies in P:upgrade:<id>. Nil: there is more.
local function sort_dependents(key, id)
  local sorted = P .. 'upgrade:' .. id
  if redis.call('TYPE', key).ok ~= 'set' or not try('ZCARD', sorted) then
    return false
  end
  local members, scored = jobs_left > 0 and redis.call('SRANDMEMBER', key, jobs_left) or {}, {}
  for _, job in ipairs(members) do
    scored[#scored + 1] = token_number(try('HGET', P .. 'job:' .. job, 'place') or '')
    scored[#scored + 1] = job
  end
  jobs_left = jobs_left - #members
  if #members > 0 then
    redis.call('ZADD', sorted, unpack(scored))
    redis.call('SREM', key, unpack(members))
  end
  if redis.call('EXISTS', key) == 1 then
    return nil
  end
  redis.call('RENAME', sorted, key)
  return true
end

local MOVES = {crashes = drop_counts, queues = mark_big, delayed = mark_big, dependents = sort_dependents}

if redis.call('GET', P .. 'format') ~= ARGV[1] then
  return {E_STATE}
end
local done, changed = 0, 0
for i = 2, #ARGV do
  local kind, name = string.match(ARGV[i], '^(%l+):(.*)$')
  local is_changed = false
  if MOVES[kind] then
    is_changed = MOVES[kind](P .. ARGV[i], name)
  end
  if is_changed == nil then
    break
  end
  done = done + 1
  changed = changed + (is_changed and 1 or 0)
end
return {0, done, changed, CHUNK - jobs_left}
