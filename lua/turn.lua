--[[
  turn: what a worker has to say at the end of a turn of its loop: which processes ended, and how many it can take.
  Ends come first, so that the hands they free are filled in the same call.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number     ARGV[4] hands: as many as it can hold
    ARGV[5] how many to take at most     ARGV[6] "1": end them one by one, for some may be ended already
    ARGV[7] how many queues it serves, n
    ARGV[8...] n times: a queue, in the wanted order, and the worker's limit of hands on it (0: none);
      then the ends, in groups, as include/ends.lua has them
  Returns {status} of E_GONE or E_STATE (nothing was changed), or {0, ends, next due, damaged, takes...}: ends is 0 when
  all of them counted, else a status for each in order (E_LOST: it was not the worker's; E_REDIS: its queue is damaged;
  nothing was changed); ms until the next delayed task of these queues is due, -1: none; the name of a key of the wrong
  type, whose queue was passed over, or 0; per queue with tasks three elements: its place in the list (from 1), the
  first token, the tasks, whose tokens follow each other. Where nothing is left waiting, a worker with free hands is idle.
  Publishes to the workers that get what was given back, retried or due, and to those who listen. O(ends + tasks + queues).
]]
--- @include "owner"
--- @include "ends"
--- @include "hand_over"
--- @include "try"
--- @include "clock"

local P, worker = KEYS[1], ARGV[1]
local status, record = owner(P, worker, ARGV[2], ARGV[3])
if status ~= 0 then
  return {status}
end
local n_queues = tonumber(ARGV[7])
local first_end = 8 + 2 * n_queues
local now = now_ms()
local next_due = math.huge

-- The queues served: place, name, limit, and what is set of them.
local served, heard = {}, {}
for i = 1, n_queues do
  local queue = ARGV[6 + 2 * i]
  local settings = try('HMGET', P .. 'queue:' .. queue, 'paused', 'due', 'listen', 'broadcast')
  if settings then
    served[#served + 1] = {place = i, name = queue, limit = tonumber(ARGV[7 + 2 * i]), paused = settings[1],
      due = tonumber(settings[2] or nil)}
    heard[queue] = is_heard(settings[3], settings[4]) or false
  end
end

-- A write that needs no memory comes first: then a full Redis allows the others too. A plain finish is one itself.
local flag = record[7]
local one_by_one = ARGV[6] == '1' or flag
if ARGV[first_end] ~= 'finish' or one_by_one then
  redis.call('HDEL', P .. 'worker:' .. worker, '-')
end
local e = carry_out_ends(P, worker, ARGV, first_end, one_by_one, now, heard)
state_hands(P, worker, record, ARGV[4])
if flag == FLAG_MARKS and not has_marks(P, worker) then
  redis.call('HDEL', P .. 'worker:' .. worker, 'flag')
end

-- Due work joins its queue before anything is taken. What cannot be moved waits for a heartbeat.
for _, queue in ipairs(served) do
  local due = math.min(queue.due or math.huge, e.due[queue.name] or math.huge)
  if due <= now then
    due = math.huge
    if can_move_due(P, queue.name) then
      due = move_due(P, queue.name, now) or due
      e.touched[queue.name] = true
    end
  end
  next_due = math.min(next_due, due)
end

-- What came back goes to other idle workers first: a worker that gives a task back would take it again at once.
for queue in pairs(e.touched) do
  try('ZREM', P .. 'idle:' .. queue, worker)
  hand_over_waiting(P, queue)
end

local held = tonumber(record[4])
for _, n in pairs(e.ended) do
  held = held - n
end
local result = {0, e.all_counted and 0 or e.statuses, -1, 0}
local want = math.min(tonumber(ARGV[5]), tonumber(ARGV[4]) - held)

-- How many more of a queue the worker may hold; 0 as well when its set there is damaged.
local function room(queue, hands)
  if queue.limit == 0 then
    return hands
  end
  local mine = try('HLEN', e.sets .. queue.name)
  return mine and math.max(0, math.min(hands, queue.limit - mine)) or 0
end

-- Every check comes before the pop: the set, the list and the counter have their types, or nothing is popped.
local function take(queue)
  local set, list = e.sets .. queue.name, P .. 'queues:' .. queue.name
  local waiting = try('LLEN', list)
  local n = waiting and math.min(room(queue, want), waiting) or 0
  if n > 0 and not try('HLEN', set) then
    return 0
  end
  queue.left = waiting and waiting - n
  if n <= 0 then
    return 0
  end
  local first = draw_tokens(P, n)
  local tasks = redis.call('RPOP', list, n)
  local head, fields = token_head(first), {}
  result[#result + 1] = queue.place
  result[#result + 1] = head .. token_tail(first)
  result[#result + 1] = tasks
  for k = 1, n do
    local number = first + k - 1
    if number % 1024 == 0 then
      head = token_head(number)
    end
    fields[#fields + 1] = head .. token_tail(number)
    fields[#fields + 1] = tasks[k]
    if #fields == 2000 or k == n then -- far below the limit of unpack(), about 8 000
      redis.call('HSET', set, unpack(fields))
      fields = {}
    end
  end
  return n
end

for _, queue in ipairs(served) do
  if want > 0 and not queue.paused then
    local n = take(queue)
    want = want - n
    held = held + n
    e.ended[queue.name] = (e.ended[queue.name] or 0) - n
  end
end

-- Counters are written once, by what really changed; a finish and a take in one call often change nothing.
if held ~= tonumber(record[4]) then
  redis.call('HINCRBY', P .. 'worker:' .. worker, 'held', held - tonumber(record[4]))
end
for queue, n in pairs(e.ended) do
  if n ~= 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'running', -n)
  end
end

-- Hands are left: idle wherever nothing is left, or nothing may be taken now.
local free = tonumber(ARGV[4]) - held
if free > 0 then
  for _, queue in ipairs(served) do
    if (queue.paused or queue.left == 0) and room(queue, free) > 0 then
      try('ZADD', P .. 'idle:' .. queue.name, 'NX', now, worker)
    end
  end
end
if next_due < math.huge then
  result[3] = math.max(0, next_due - now)
end
result[4] = damaged or 0
return result
