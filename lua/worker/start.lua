--[[
  start: register a worker. A new life of its id begins.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] nonce of this start     ARGV[3] ttl, ms     ARGV[4] hands
    ARGV[5] host     ARGV[6] pid     ARGV[7] version     ARGV[8] the layout's version
    ARGV[9] "1": permanent, its life has no end of its own     ARGV[10] "1": resume what a former life held
  Returns {0, epoch, ms to the next heartbeat, number of processes to take up}; the same epoch if the same nonce is sent
  again. {E_EXISTS} if this id is alive under another nonce; {E_FORMAT, layout} for another layout; {E_REDIS, key} for a
  key of the wrong type: nothing was changed. What a former life held goes back to the front of its queues first; or it
  stays for this worker, which takes it up (take_up): that of queues that share evenly in any case, so that it need not
  move twice. Either way that life died, as in a sweep, because a worker that
  stops in good order leaves nothing; a permanent worker is expected to go away. If its liveness key ran out, it gives
  way to a new life. If the clock was set back, lives are cut to their ttl first. Writes the record, the liveness key,
  the registry, P:ttls, P:beat, P:format, P:token and P:timer, and what the former life leaves. Publishes to the workers
  that get a task or the timer, and to those who listen. O(processes of the former life), whatever the sizes of the
  tasks.
]]
--- @include "retire"
--- @include "silence"
--- @include "clock_back"
--- @include "clock"

local P, worker, nonce, ttl = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local record, alive = P .. 'worker:' .. worker, P .. 'alive:' .. worker
local now = now_ms()

local wrong = wrong_one(P, {format = 'string', token = 'string', registry = 'zset', ttls = 'zset', beat = 'hash',
  ['worker:' .. worker] = 'hash', ['alive:' .. worker] = 'string', ['marks:' .. worker] = 'hash'})
if wrong then
  return {E_REDIS, wrong}
end
local format = redis.call('GET', P .. 'format')
if format and format ~= ARGV[8] then
  return {E_FORMAT, format}
end
ClockBack.look(P, now)
local old = redis.call('HMGET', record, 'nonce', 'epoch', 'counts')
local again = old[1] == nonce
local permanent, n, homes = ARGV[9] == '1', 0, {}
if old[1] and not again then
  local ends = tonumber(redis.call('ZSCORE', P .. 'registry', worker) or 0)
  if redis.call('EXISTS', alive) == 1 or (ends > now and ends < math.huge) then
    return {E_EXISTS}
  end
  local left, more
  local function shares(queue)
    return ARGV[10] == '1' or (tonumber(try('HGET', P .. 'queue:' .. queue, 'share') or 0) or 0) > 0
  end
  local has_any = ARGV[10] == '1'
  for _, queue in ipairs(queues_of(redis.call('HGETALL', record))) do
    has_any = has_any or shares(queue)
  end
  if has_any then
    left, more = resume(P, worker, shares)
    n, homes = left, more
  else
    left, more = retire(P, worker, true)
  end
  if not left then
    return {E_REDIS, more}
  end
end

-- Needs no memory, so that a full Redis allows the other writes: workers are what drains it.
redis.call('HDEL', record, '-')
if not format then
  redis.call('SET', P .. 'format', ARGV[8])
end
local epoch = again and old[2] or select(2, draw_tokens(P, 1))
if again then
  for _, left in ipairs(homes_of(redis.call('HGETALL', record))) do
    for _, home in ipairs(left.homes) do
      n = n + (try('HLEN', home_key(P, home, left.queue)) or 0)
    end
  end
else
  -- Redis looks for a field from the beginning of the hash: so the fields that every call asks for come first.
  redis.call('HSET', record, 'epoch', epoch, 'conn', '0', 'hands', ARGV[4], 'held', '0', 'ttl', ARGV[3],
    'permanent', ARGV[9], 'nonce', nonce,
    'host', ARGV[5], 'pid', ARGV[6], 'version', ARGV[7], 'started', now,
    'counts', string.format('%.0f', math.min(now + ttl, tonumber(old[3] or nil) or math.huge)))
  for i = 1, #homes, 2 do
    redis.call('HSET', record, homes[i], homes[i + 1])
  end
  if has_marks(P, worker) then
    set_flag(P, worker, FLAG_MARKS)
  end
end
redis.call('SET', alive, epoch, 'PX', ttl)
redis.call('ZADD', P .. 'ttls', ttl, worker)
local shortest = shortest_ttl(P)
note_beat(P, now, shortest)
redis.call('ZADD', P .. 'registry', permanent and '+inf' or now + ttl, worker)
return {0, epoch, math.floor(shortest / HEARTBEATS_PER_TTL), n}
