--[[
  cancel: cancel all copies of a task, a unique one too, or one process. Copies that wait or are delayed are removed.
  Processes are marked, and their holders are told: a marked process may still finish; if it ends in any other way, it
  is dropped. The job of the one process is gone at once, as by `cancel_jobs`.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] "": every copy of the task; else the holder of the one process
    ARGV[3] the task, or the token
    ARGV[4] where to go on among the delayed tasks: the cursor that the last call returned; "0": from the beginning
  Returns {0, number of copies removed, number of copies that run and were marked, cursor}; the cursor is "0" when all
  is done, otherwise another call must follow. A copy under a lease that is over counts as removed: it is dropped when
  it is moved. {E_LOST} if there is no such process, or its lease has lapsed; {E_REDIS, key} for
  a key of the wrong type: nothing was changed, except by a call that is not the first. What waits and runs is looked
  through by the first and by the last call. In between each call looks at delayed tasks, at most 5 000 or 4 MiB of
  them: what becomes due meanwhile is found by the last call.
  Writes the queue, its delayed tasks and its count `cancelled`, P:names; the marks and the flag of each holder.
  Publishes to the holders, to those who listen, and to the workers that get a task whose lease lapsed.
  O(all that waits and runs in the queue).
]]
--- @include "marks"
--- @include "due"
--- @include "announce"
--- @include "lapsed"
--- @include "clock"

local P, queue, holder, wanted = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local list, delayed, key = P .. 'queues:' .. queue, P .. 'delayed:' .. queue, P .. 'queue:' .. queue
local cursor = ARGV[4] or '0'
local is_first = cursor == '0'
local DELAYED_MAX, DELAYED_BYTES_MAX = 5000, 4194304

-- Is this task the one that the call means?
local function is_wanted(key, token)
  return not is_job_field(token) and redis.call('HSTRLEN', key, token) == #wanted
    and redis.call('HGET', key, token) == wanted
end

-- The tokens of the processes of one holder that the call means; after the first call, those that are not marked yet.
local function find(worker)
  local found = {}
  for _, set in ipairs(keys_of_holder(P, worker, queue)) do
    if holder ~= '' then
      found[1] = found[1] or ((try('HEXISTS', set, wanted) == 1 or try('HEXISTS', set, 'j' .. wanted) == 1) and wanted)
        or nil
    end
    for _, token in ipairs(holder == '' and try('HKEYS', set) or {}) do
      local is_meant = is_wanted(set, token) and (is_first or try('HEXISTS', P .. 'marks:' .. worker, token) == 0)
      found[#found + 1] = is_meant and token or nil
    end
  end
  return found
end

local function cancel_returned()
  local removed = 0
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', P .. 'returned:' .. queue, 0, '+inf')) do
    local field, home = parse_returned(member)
    if try('HEXISTS', home_key(P, home, queue), field) == 1 and is_wanted(home_key(P, home, queue), field) then
      remove_returned(P, queue, member, field, home)
      acquit(P, queue, field)
      removed = removed + 1
    end
  end
  if removed > 0 then
    clear_if_none_returned(P, queue)
  end
  return removed
end

-- How many members to ask for at once. They come in no order, so those that were seen tell how large the others are.
local function page_len(seen, bytes)
  local left = DELAYED_BYTES_MAX - bytes
  return seen < 100 and 1 or math.max(1, math.min(100, math.floor(left * seen / math.max(1, bytes) / 8)))
end

-- Removes the copies among the next delayed tasks. Returns how many. A cursor of Redis' meets every member that is
-- there from the first call to the last.
local function cancel_delayed()
  local removed, seen, bytes = 0, 0, 0
  repeat
    local answer, members = redis.call('ZSCAN', delayed, cursor, 'COUNT', page_len(seen, bytes)), {}
    cursor = answer[1]
    for i = 1, #answer[2], 2 do
      local member = answer[2][i]
      seen, bytes = seen + 1, bytes + #member
      members[#members + 1] = #member == TOKEN_LEN + 1 + #wanted and string.sub(member, TOKEN_LEN + 2) == wanted
        and member or nil
    end
    removed = removed + (#members > 0 and redis.call('ZREM', delayed, unpack(members)) or 0)
  until cursor == '0' or seen >= DELAYED_MAX or bytes >= DELAYED_BYTES_MAX
  return removed
end

-- The unique task of these bytes, if it is alive in this queue.
local function find_unique()
  local job = holder == '' and Jobs.read(P, Jobs.unique_id(queue, wanted))
  return job and job.unique and job.queue == queue and job.data == wanted and job or nil
end

-- The job of the process that is meant, unless it is a unique task.
local function find_job()
  local job
  for _, set in ipairs(holder ~= '' and keys_of_holder(P, holder, queue) or {}) do
    local id = try('HGET', set, 'j' .. wanted)
    job = job or (id and Jobs.read_held(P, id, wanted)) or nil
  end
  return job and not job.unique and job or nil
end

local settings = try('HMGET', key, 'listen', 'broadcast')
local is_sound = can_move_due(P, queue)
local meant, running, removed = {}, 0, 0
local function count_marked(worker, tokens)
  local over, unmarked = 0, 0
  if worker == LEASE and holder == '' then
    over, unmarked = count_lapsed(P, lapsed_tokens(P, queue, now_ms()), tokens)
  end
  running, removed = running + #tokens - over, removed + unmarked
end
local function find_all()
  for _, worker in ipairs(holder == '' and all_holders(P) or {holder}) do
    local tokens = find(worker)
    is_sound = is_sound and (#tokens == 0 or can_mark(P, worker))
    meant[worker] = tokens
    count_marked(worker, tokens)
  end
end
if is_first then
  find_all()
end
local twin, job = is_first and find_unique(), find_job()
for _, one in ipairs({twin or job}) do
  is_sound = is_sound and Jobs.are_sound(P, queue) and Jobs.can_take_away(P, one)
end
if not is_sound or damaged then
  return {E_REDIS, damaged}
end

redis.call('HDEL', key, '-') -- needs no memory, so that a full Redis allows the others
if holder == LEASE and has_lapsed(P, queue, wanted, now_ms()) then
  return {E_LOST}
end
if holder ~= '' and running == 0 then
  return {E_LOST}
end
local gone = 0
if holder == '' then
  gone = cancel_delayed()
  if not is_first and cursor == '0' then
    find_all()
    meant = is_sound and not damaged and meant or {}
  end
  if is_first or cursor == '0' then
    local n = redis.call('LREM', list, 0, wanted)
    if n > 0 then
      try('HINCRBY', key, 'out', n)
      try('HINCRBY', key, 'unordered', n)
    end
    gone = gone + n + cancel_returned()
  end
end
count_cancelled(P, queue, gone)
if twin and Jobs.is_in_hands(P, twin) then
  local tokens = meant[twin.worker] or {}
  tokens[#tokens + 1] = twin.token
  meant[twin.worker] = tokens
  count_marked(twin.worker, {twin.token})
elseif twin then
  Jobs.cancel(P, twin, '')
  gone = gone + 1
end
if gone > 0 then -- only a bare LPUSH may have made the queue: tidying must find the counter
  try('ZADD', P .. 'names', 'NX', now_ms(), queue)
end
if job then
  Jobs.cancel_running(P, job)
end
for worker, tokens in pairs(job and {} or meant) do
  mark(P, worker, tokens, CANCELLED)
end
if holder == '' and cursor == '0' and is_heard(settings[1], settings[2]) then
  announce(queue, 'cancel', wanted)
end
hand_over_jobs(P)
if not is_first and (not is_sound or damaged) then
  return {E_REDIS, damaged}
end
return {0, removed + gone, running, cursor}
