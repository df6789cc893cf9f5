--[[
  turn: a worker tells which processes ended, and how many it can take. The ends come first, so that the hands that they
  free are filled in the same call.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number     ARGV[4] hands: how many processes it can hold
    ARGV[5] how many to take at most     ARGV[6] "1": end them one by one, some may have ended already
    ARGV[7] how many queues to look at, n
    ARGV[8...] n times: a queue, in the wanted order, and the worker's limit of hands on it (0: none);
      then the ends, in the forms of the include `ends`
  Returns {E_GONE} or {E_STATE}: nothing was changed. Or {0, ends, damaged, more, takes...}:
    ends      0 if all counted; else a status for each end, in order: 0; E_LOST: the process was not the worker's;
              E_STATE: "next" of a process that is no job's; E_REDIS: its queue is damaged. Such an end changed
              nothing. E_INVALID, E_TOO_BIG: "next" of a job that could not wait as asked, and failed. E_CANCELLED: a
              finish of a job that was cancelled; its process is gone. Of finishes that go together all have E_LOST if
              one is lost; the others may have counted
    damaged   name of a key of the wrong type, whose queue was passed over; or 0
    more      1: the call stopped before it had all that it could take, because that was many bytes: call again. 2: it
              stopped because all hands are full. 0: it has looked at all the queues that it names
    takes     four elements each. Of tasks: the queue's place in the call, from 1; the first token; the tasks, whose
              tokens follow each other; 1 if they are suspects, else 0. Of a job: the place as a negative number; the
              token; {id, record {field, value, ...} from before the take}; 1 if it is a suspect, else 0
  What is due is moved first. Where nothing is left that may be taken, a worker with free hands becomes idle.
  Writes as the ends require; the queues, the worker's sets and record, the queues' counters, idle entries, and the
  records of jobs. Publishes to the workers that get what was given back, retried or due, and to those who listen.
  O(ends + tasks + queues + jobs log n).
]]
--- @include "bytes"
--- @include "chunk"
--- @include "idle"

local P, worker, epoch, conn = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local record
do
  --- @inline "owner_record"
  if status ~= 0 then
    return {status}
  end
  record = w
end
local n_queues, most = tonumber(ARGV[7]), tonumber(ARGV[5])
local first_end = 8 + 2 * n_queues
local first_token = first_end + 3
local flag = record[7]

-- The commonest call goes straight through, before any function is made: plain finishes and a look at one queue, the
-- same one, that nothing is special about, and in which one task waits or none. What is not as usual goes the long way.
-- That carries on from what this one has done: how many finishes counted, which tasks were taken. Both have their rules
-- from the same pieces.
local known = {} -- settings of queues, read once; false for a damaged queue
local counted, taken
do
  local queue, n_ends = ARGV[n_queues == 0 and 9 or 8], math.max(0, #ARGV - first_token + 1)
  local is_usual = (n_queues == 1 and ARGV[first_end - 1] == '0' or n_queues == 0 and most == 0) and queue and not flag
    and ARGV[6] ~= '1' and record[3] == ARGV[4] and tonumber(record[4]) and n_ends <= CHUNK and (not ARGV[first_end]
    or ARGV[first_end] == 'finish' and ARGV[first_end + 1] == queue and tonumber(ARGV[first_end + 2]) == n_ends)
  local settings = is_usual and redis.pcall('HMGET', P .. 'queue:' .. queue, 'paused', 'due', 'listen', 'broadcast',
    'jobs', 'max_running', 'returned', 'big', 'rate')
  known[queue or ''] = settings and not settings.err and settings or nil
  if known[queue] and not (settings[1] or settings[2] or settings[3] or settings[4] or settings[5] or settings[6]
      or settings[7] or settings[8] or settings[9]) then
    local set = P .. 'processing:' .. worker .. ':' .. queue
    local hands, held = tonumber(ARGV[4]), tonumber(record[4])
    counted = n_ends > 0 and redis.pcall('HDEL', set, unpack(ARGV, first_token)) or 0
    counted = type(counted) == 'number' and counted
    local want = counted == n_ends and math.min(most, hands - held + counted) or 0
    local tasks = want > 0 and redis.pcall('RPOP', P .. 'queues:' .. queue, math.min(want, BLIND_MAX))
    local n_taken, is_done, token = 0, counted == n_ends and not tasks, nil
    taken = tasks and not tasks.err and tasks
    local time = want > 0 and (not taken or #taken == 1) and redis.call('TIME')
    local us = time and time[1] * 1000000 + time[2]
    if taken and #taken == 1 and n_ends > 0 and #taken[1] <= INLINE_MAX then
      local n, from = 1, us
      --- @inline "draw_token"
      if is_drawn then
        redis.call('HSET', set, last, taken[1]) -- finishes counted in this set, so it is sound
        n_taken, is_done, token = 1, true, last
      end
    end
    if is_done then
      local result = {0, 0, 0, want <= n_taken and most > 0 and 2 or 0}
      if n_taken > 0 then
        result[5], result[6], result[7], result[8] = 1, token, taken, 0
        local key = P .. 'queue:' .. queue
        local answer = redis.pcall('HINCRBY', key, 'out', n_taken)
        --- @inline "note_damage"
      end
      if n_taken ~= counted then
        redis.call('HINCRBY', P .. 'worker:' .. worker, 'held', n_taken - counted)
        local key = P .. 'queue:' .. queue
        local answer = redis.pcall('HINCRBY', key, 'running', n_taken - counted)
        --- @inline "note_damage"
      end
      if want > n_taken then
        local room = hands - held + counted - n_taken
        --- @inline "idle_score"
        local key = P .. 'idle:' .. queue
        local answer
        if n_taken + counted > 0 then
          answer = redis.pcall('ZADD', key, score, worker)
        else -- its place is as it was, and a take that finds nothing writes nothing
          answer = redis.pcall('ZADD', key, 'NX', score, worker)
        end
        --- @inline "note_damage"
      end
      return result
    end
  end
end

--- @include "owner"
--- @include "hold"
--- @include "try"
--- @include "heard"
--- @include "tally"

local sets = P .. 'processing:' .. worker .. ':'

-- Functions that most turns do not need. Only the turns that need them make them: for Redis, making a function costs
-- more than calling it.
local rare
local function get_rare()
  if rare then
    return rare
  end
--- @include "ends"
--- @include "available"
--- @include "big"
--- @include "rate"
  rare = {carry_out_ends = carry_out_ends, has_marks = has_marks, FLAG_MARKS = FLAG_MARKS,
    can_move_due = can_move_due, move_due = move_due, hand_over_waiting = hand_over_waiting,
    hand_over_jobs = hand_over_jobs, has_type = has_type, can_return = can_return,
    pop_by_length = pop_by_length, note_big = note_big, Rate = Rate, Jobs = Jobs}
  Jobs.gathered = {}
  return rare
end

local PAUSED, DUE, LISTEN, BROADCAST, JOBS, MAX_RUNNING, RETURNED, BIG, RATE = 1, 2, 3, 4, 5, 6, 7, 8, 9
local function settings_of(queue)
  local settings = known[queue]
  if settings == nil then
    settings = try('HMGET', P .. 'queue:' .. queue, 'paused', 'due', 'listen', 'broadcast', 'jobs',
      'max_running', 'returned', 'big', 'rate') or false
    known[queue] = settings
  end
  return settings
end

-- Are all ends plain finishes, which change the set and nothing else?
local function are_plain()
  local at = first_end
  while ARGV[at] do
    local settings = ARGV[at] == 'finish' and settings_of(ARGV[at + 1])
    if not settings or is_heard(settings[LISTEN], settings[BROADCAST]) or settings[MAX_RUNNING] then
      return false
    end
    at = at + 3 + tonumber(ARGV[at + 2])
  end
  return true
end

-- Tasks that came back go to other idle workers first: otherwise the worker that gave a task back would take it again
-- at once.
local function make_available(queue)
  try('ZREM', P .. 'idle:' .. queue, worker)
  get_rare().hand_over_waiting(P, queue)
end

local function end_all()
  if not flag and ARGV[6] ~= '1' and are_plain() then
    local ends, at = new_tally(), first_end
    while ARGV[at] do
      local queue, n = ARGV[at + 1], tonumber(ARGV[at + 2])
      finish_together(ends, sets .. queue, queue, ARGV, at + 3, n, counted)
      at = at + 3 + n
    end
    return ends
  end
  -- The first write needs no memory: then a full Redis allows the others too. A plain finish is such a write itself.
  redis.call('HDEL', P .. 'worker:' .. worker, '-')
  local ends = get_rare().carry_out_ends(P, worker, ARGV, first_end, ARGV[6] == '1' or flag, now_ms())
  for queue in pairs(ends.touched) do
    make_available(queue)
  end
  known = {} -- what came back has left its field there
  return ends
end

local ends = ARGV[first_end] and end_all() or new_tally()
if flag and flag == get_rare().FLAG_MARKS and not rare.has_marks(P, worker) then
  redis.call('HDEL', P .. 'worker:' .. worker, 'flag')
end
if record[3] ~= ARGV[4] then
  redis.call('HDEL', P .. 'worker:' .. worker, '-')
  store_hands(P, worker, record, ARGV[4])
end
local held = tonumber(record[4])
for _, n in pairs(ends.ended) do
  held = held - n
end
local result = {0, statuses_of(ends), 0, 0}
local want = math.min(most, tonumber(ARGV[4]) - held)

-- How many more processes of a queue the worker may hold; 0 too if its set there is damaged.
local function room_for(queue, hands)
  if queue.limit == 0 then
    return hands
  end
  local mine = try('HLEN', sets .. queue.name)
  return mine and math.max(0, math.min(hands, queue.limit - mine)) or 0
end

-- Takes up to n tasks and returns how many. If they cannot be held, because of a damaged key for example, they go back
-- and it returns 0. If fewer than n come, and not because it is too much for one script, the queue is empty.
local function take(queue, n, is_big)
  local list, most, tasks, is_cut = P .. 'queues:' .. queue.name, math.min(n, BLIND_MAX), taken, false
  if is_big and n > 0 and get_rare().has_type('LLEN', list) then
    tasks, is_cut = rare.pop_by_length(list, n)
    tasks = #tasks > 0 and tasks
  elseif n > 0 then
    tasks = tasks or try('RPOP', list, most)
    is_cut = tasks and #tasks == most and most < n
  end
  taken = nil
  result[4] = is_cut and 1 or result[4]
  if not tasks then
    queue.is_empty = tasks == false and n > 0 and not is_cut
    return 0
  end
  queue.is_empty = #tasks < n and not is_cut
  local done, first, is_large = pcall(hold, P, sets .. queue.name, tasks)
  if not done then
    for i = #tasks, 1, -1 do
      redis.call('RPUSH', list, tasks[i])
    end
    queue.is_empty = false -- the tasks are back, and a worker that cannot hold them must not be idle beside them
    if not try('STRLEN', P .. 'token') or not try('HLEN', sets .. queue.name) then
      return 0
    end
    error(first)
  end
  if is_big or is_large then
    get_rare().note_big(P, queue.name, is_big)
  end
  try('HINCRBY', P .. 'queue:' .. queue.name, 'out', #tasks)
  result[#result + 1] = queue.place
  result[#result + 1] = first
  result[#result + 1] = tasks
  result[#result + 1] = 0
  return #tasks
end

-- The same for a queue in which jobs wait too, or to which something came back.
local function take_mixed(queue, n, is_big, has_returned)
  local Jobs = get_rare().Jobs
  local set = sets .. queue.name
  if not Jobs.are_sound(P, queue.name) or not rare.has_type('HLEN', set) or not rare.can_return(P, queue.name) then
    return take(queue, n, is_big)
  end
  redis.call('HDEL', P .. 'worker:' .. worker, '-') -- maybe the first write
  local held = {}
  local taken, is_cut = Jobs.take(P, queue.name, n, worker, has_returned, false, function(token, task, job, is_suspect)
    held[#held + 1] = job and 'j' .. token or token
    held[#held + 1] = job and job.id or task
    result[#result + 1] = job and -queue.place or queue.place
    result[#result + 1] = token
    result[#result + 1] = job and {job.id, job.flat} or {task}
    result[#result + 1] = is_suspect and 1 or 0
  end)
  for from = 1, #held, CHUNK do
    redis.call('HSET', set, unpack(held, from, math.min(from + CHUNK - 1, #held)))
  end
  queue.is_empty = taken < n and not is_cut
  result[4] = is_cut and 1 or result[4]
  return taken
end

-- Moves what is due into its queue, before anything is taken. Where a key is damaged, the work stays.
local function move_due_work(queue, due)
  if due > now_ms() or not get_rare().can_move_due(P, queue) then
    return
  end
  redis.call('HDEL', P .. 'worker:' .. worker, '-') -- maybe the first write
  rare.move_due(P, queue, now_ms())
  make_available(queue)
  known[queue] = nil -- there may be jobs now
end

-- How many more processes of a queue its limit over all workers allows. The counter is still that from before this
-- call.
local limited = {}
local function room_under_limit(queue, most)
  most = most and tonumber(string.match(most, '^%d+$')) or 0 -- by hand it may be anything
  if most == 0 then
    return math.huge
  end
  limited[queue] = true
  local running = tonumber(string.match(try('HGET', P .. 'queue:' .. queue, 'running') or '', '^%d+$')) or 0
  return math.max(0, most - running + (ends.ended[queue] or 0))
end

-- Looks at the queues in the wanted order, as long as hands are free.
local looked_at = {}
for i = 1, want > 0 and n_queues or 0 do
  local queue = {place = i, name = ARGV[6 + 2 * i], limit = tonumber(ARGV[7 + 2 * i])}
  local settings = settings_of(queue.name)
  if settings and settings[DUE] then
    move_due_work(queue.name, tonumber(settings[DUE]) or 0)
    settings = settings_of(queue.name)
  end
  if settings then
    local places = room_under_limit(queue.name, settings[MAX_RUNNING])
    local rate = settings[RATE] and get_rare().Rate.of(P, queue.name, settings[RATE], now_us())
    if rate then
      places, limited[queue.name] = math.min(places, rate.room), true
    end
    queue.is_shut = settings[PAUSED] or places == 0
    if not queue.is_shut then
      local n = math.min(places, room_for(queue, want))
      local is_mixed = n > 0 and (settings[JOBS] or settings[RETURNED])
      n = (is_mixed and take_mixed or take)(queue, n, settings[BIG], settings[RETURNED])
      if rate then
        rare.Rate.use(P, queue.name, rate, n)
      end
      want, held = want - n, held + n
      ends.ended[queue.name] = (ends.ended[queue.name] or 0) - n
      queue.is_shut = n == places
    end
    looked_at[#looked_at + 1] = queue
  end
  if want <= 0 then
    break
  end
end

if want <= 0 and most > 0 and result[4] == 0 then
  result[4] = 2
end

-- Each counter is written once, by what really changed: a finish and a take in one call often leave it as it was.
if held ~= tonumber(record[4]) then
  redis.call('HINCRBY', P .. 'worker:' .. worker, 'held', held - tonumber(record[4]))
end
for queue, n in pairs(ends.ended) do
  if n ~= 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'running', -n)
  end
end

local has_changed = ends.n > 0 or held ~= tonumber(record[4])
-- If hands are left, the worker is idle on each queue where nothing is left, or where nothing may be taken now.
local free = tonumber(ARGV[4]) - held
for _, queue in ipairs(free > 0 and looked_at or {}) do
  local room = (queue.is_shut or queue.is_empty) and room_for(queue, free) or 0
  if room > 0 then
    if queue.is_shut then
      redis.call('HDEL', P .. 'worker:' .. worker, '-') -- maybe the first write
    end
    local hands = queue.limit > 0 and math.min(queue.limit, tonumber(ARGV[4])) or tonumber(ARGV[4])
    local us = now_us()
    --- @inline "idle_score"
    if has_changed then
      try('ZADD', P .. 'idle:' .. queue.name, score, worker)
    else -- its place is as it was, and a take that finds nothing writes nothing
      try('ZADD', P .. 'idle:' .. queue.name, 'NX', score, worker)
    end
  end
end

-- Now that the counters are right, hand over what jobs have moved, and what a free place under a limit lets out.
if rare then
  for queue, n in pairs(ends.ended) do
    local settings = n > 0 and settings_of(queue)
    limited[queue] = limited[queue] or (settings and settings[MAX_RUNNING] and true) or nil
  end
  for queue in pairs(limited) do
    rare.hand_over_waiting(P, queue)
  end
  rare.hand_over_jobs(P)
  if next(rare.Jobs.gathered) then
    rare.Jobs.count_gathered()
  end
end
result[3] = damaged or 0
return result
