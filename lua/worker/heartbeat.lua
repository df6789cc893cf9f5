--[[
  heartbeat: a worker shows that it lives, and learns what it missed.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number     ARGV[4] hands
    ARGV[5] the place in the registry to look for dead workers from
    ARGV[6] "1": note the names of its queues, which tidying may have removed
    ARGV[7...] for each queue it serves: the queue, and the worker's limit of hands on it (0: none)
  Returns {E_GONE} or {E_STATE}, or {E_REDIS, key} for a record without a valid ttl: nothing was changed. Or {0, and
  these:
     2  ms to the next heartbeat
     3  number of processes held
     4  the last token, N; the processes held have tokens up to N, for N was read in the same script
     5  "1" if work waits for the worker
     6  how many workers are past their end, from that place on; it looked at the first 10 of them
     7  name of a damaged key, or 0
     8  the worker's marks {token, kind, ...}
     9  ms until something is due in any queue, if this worker keeps the timer; -1: nothing is; -2: another one keeps it
    10 the queues that share evenly {place in the call, how many run, their hands, notes, ...}; notes is a sum: 1,
       somebody lacks something; 2, somebody has too much; 4, a move has lapsed
    11 how many heard the echo: 0, if the worker listens at another server than this one
    12... the workers to sweep}
  A timer that nobody keeps is this worker's from now on.
  If the clock was set back, it cuts the lives of all workers to their ttl, and has all queues looked at.
  Writes the liveness key, the registry, P:ttls, P:beat, the worker's hands, its missing idle entries, P:timer, P:names.
  Publishes the echo of N on the worker's own channel. O(queues).
]]
--- @include "owner"
--- @include "last_token"
--- @include "idle"
--- @include "silence"
--- @include "try"
--- @include "clock"
--- @include "whole"

local P, worker = KEYS[1], ARGV[1]
local BATCH = 10
local status, record = check_owner(P, worker, ARGV[2], ARGV[3])
if status ~= 0 then
  return {status}
end
local epoch, ttl = ARGV[2], whole(record[5])
local now = now_ms()
if not ttl or ttl < TTL_LEAST or ttl > TTL_MOST then
  return {E_REDIS, P .. 'worker:' .. worker}
end

-- The first write needs no memory: then a full Redis allows the others too.
if redis.call('PEXPIRE', P .. 'alive:' .. worker, ttl) == 0 then
  redis.call('SET', P .. 'alive:' .. worker, epoch, 'PX', ttl)
end
local shortest = shortest_ttl(P)
if shortest and shortest < ttl and drop_silent_permanent(P) then
  shortest = shortest_ttl(P)
end
if not shortest or shortest > ttl then
  try('ZADD', P .. 'ttls', ttl, worker) -- its entry was lost, and others must know how short its life is
  shortest = ttl
end
local ahead = note_beat(P, now, shortest)
if ahead then
--- @include "clock_back"
  ClockBack.set_right(P, now, ahead, shortest)
end
if record[6] == '1' then
  try('ZADD', P .. 'ttls', ttl, worker) -- somebody may have dropped it while it was silent
else
  try('ZADD', P .. 'registry', now + ttl, worker)
end
store_hands(P, worker, record, ARGV[4])

-- What a worker needs to see whether it holds its share of a queue. Only a worker that does not asks for more (script
-- `share`).
local shares = {}
local function note_share(place, queue)
  local f = try('HMGET', P .. 'queue:' .. queue, 'running', 'hands', 'lack', 'over', 'moves') or {}
  local notes = (f[3] and 1 or 0) + ((tonumber(f[4] or nil) or 0) > now and 2 or 0)
    + ((tonumber(f[5] or nil) or math.huge) <= now and 4 or 0)
  shares[#shares + 1] = place
  shares[#shares + 1] = f[1] or '0'
  shares[#shares + 1] = f[2] or '0'
  shares[#shares + 1] = notes
end

-- A missing idle entry comes back, but only where nothing waits. Where something waits, the worker should take.
local free = tonumber(ARGV[4]) - record[4]
local work = '0'
for i = 7, #ARGV, 2 do
  local queue, limit = ARGV[i], tonumber(ARGV[i + 1])
  local room = free
  if limit > 0 then
    room = math.min(free, limit - (try('HLEN', P .. 'processing:' .. worker .. ':' .. queue) or limit))
  end
  if room <= 0 or ARGV[6] == '1' then
    try('ZADD', P .. 'names', 'NX', now, queue) -- without an idle entry it may have been tidied away
  end
  local settings = try('HMGET', P .. 'queue:' .. queue, 'paused', 'due', 'jobs', 'returned', 'share')
  local waiting = settings and room > 0 and try('LLEN', P .. 'queues:' .. queue)
  if settings and settings[5] and settings[5] ~= '0' and not settings[1] then
    note_share((i - 5) / 2, queue)
  end
  if waiting then
    local due = tonumber(settings[2])
    if ((waiting > 0 or settings[3] or settings[4]) and not settings[1]) or (due and due <= now) then
      work = '1'
    else
      local hands = limit > 0 and math.min(limit, tonumber(ARGV[4])) or tonumber(ARGV[4])
      local us = now_us()
      --- @inline "idle_score"
      try('ZADD', P .. 'idle:' .. queue, 'NX', score, worker)
    end
  end
end

-- If nobody keeps the timer, this worker does, for as long as its next heartbeat may take.
local keeper, next_due = try('GET', P .. 'timer'), -2
if keeper and ARGV[6] ~= '' then
  local left = redis.call('PTTL', P .. 'timer')
  if left < 0 or left > shortest then
    keeper = false -- written by hand: it would not end for long, and nobody may look at what is due meanwhile
  end
end
if keeper == worker or keeper == false then
  redis.call('SET', P .. 'timer', worker, 'PX', shortest)
  local first = tonumber((try('ZRANGE', P .. 'due', 0, 0, 'WITHSCORES') or {})[2])
  next_due = first and first < 2 ^ 53 and math.max(0, first - now) or -1
end

local result = {0, math.floor(shortest / HEARTBEATS_PER_TTL), tonumber(record[4]), last_token(P), work, 0, 0,
  record[7] and try('HGETALL', P .. 'marks:' .. worker) or {}, next_due, shares}
result[11] = redis.call('SPUBLISH', C .. ':wake:' .. worker, 'E' .. epoch .. result[4])

-- Dead workers whose grace is over. A call looks at ten workers.
local past = try('ZRANGEBYSCORE', P .. 'registry', '-inf', now, 'WITHSCORES', 'LIMIT', ARGV[5], BATCH) or {}
local n_past = #past / 2
if n_past == BATCH then
  n_past = redis.call('ZCOUNT', P .. 'registry', '-inf', now) - ARGV[5]
end
for i = 1, #past, 2 do
  local dead = past[i]
  if dead ~= worker and redis.call('EXISTS', P .. 'alive:' .. dead) == 0 then
    if not in_grace(P, now, tonumber(past[i + 1]), dead) then
      result[#result + 1] = dead
    end
  end
end
result[6], result[7] = n_past, damaged or 0
return result
