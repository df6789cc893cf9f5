--[[
  Retire: ends one life of a worker. Its epoch ends first, so every later call of that life is E_GONE; then all that it
  holds goes back to the front of its queues, in the order in which it took it, and idle workers are woken.
]]
--- @include "hand_over"

-- At most this many values in one unpack(), far below Lua's limit of about 8 000.
local CHUNK = 1000

-- The queues that the worker has served in this life.
local function queues_of(record)
  local queues = {}
  for i = 1, #record, 2 do
    if string.sub(record[i], 1, 2) == 'q:' then
      queues[#queues + 1] = string.sub(record[i], 3)
    end
  end
  return queues
end

local function type_is(key, wanted)
  local found = redis.call('TYPE', key).ok
  return found == wanted or found == 'none'
end

-- The first key that retiring the worker writes and that has another type than it should have, or nil: checked before
-- anything is written, for a WRONGTYPE halfway would lose tasks.
local function damaged_key(P, worker, queues)
  local shared = {registry = 'zset', ttls = 'zset', token = 'string'}
  for name, kind in pairs(shared) do
    if not type_is(P .. name, kind) then
      return P .. name
    end
  end
  for _, queue in ipairs(queues) do
    local wanted = {
      [P .. 'processing:' .. worker .. ':' .. queue] = 'hash',
      [P .. 'queues:' .. queue] = 'list',
      [P .. 'idle:' .. queue] = 'zset',
      [P .. 'queue:' .. queue] = 'hash',
    }
    for key, kind in pairs(wanted) do
      if not type_is(key, kind) then
        return key
      end
    end
  end
end

-- Puts one set back onto the front of its queue and returns how many tasks it held.
local function give_back_set(P, worker, queue)
  local set = P .. 'processing:' .. worker .. ':' .. queue
  local list = P .. 'queues:' .. queue
  local held = redis.call('HGETALL', set)
  local numbers, tasks = {}, {}
  for i = 1, #held, 2 do
    local number = token_number(held[i]) or 0
    while tasks[number] do
      number = number + 0.25 -- fields that are no tokens: keep their tasks all the same
    end
    numbers[#numbers + 1] = number
    tasks[number] = held[i + 1]
  end
  table.sort(numbers)
  redis.call('DEL', set)
  local chunk = {}
  for i = #numbers, 1, -1 do -- newest first, so that the oldest is the next out
    chunk[#chunk + 1] = tasks[numbers[i]]
    if #chunk == CHUNK or i == 1 then
      redis.call('RPUSH', list, unpack(chunk))
      chunk = {}
    end
  end
  if #numbers > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'running', -#numbers)
  end
  return #numbers
end

-- Retires a worker: the number of tasks given back, or nil and the name of the damaged key that prevents it.
local function retire(P, worker)
  local key = P .. 'worker:' .. worker
  local record = redis.pcall('HGETALL', key)
  if record.err then
    return nil, key
  end
  local queues = queues_of(record)
  local damaged = damaged_key(P, worker, queues)
  if damaged then
    return nil, damaged
  end
  redis.call('DEL', key, P .. 'alive:' .. worker)
  redis.call('ZREM', P .. 'registry', worker)
  redis.call('ZREM', P .. 'ttls', worker)
  local given_back = 0
  for _, queue in ipairs(queues) do
    redis.call('ZREM', P .. 'idle:' .. queue, worker)
  end
  for _, queue in ipairs(queues) do
    given_back = given_back + give_back_set(P, worker, queue)
  end
  for _, queue in ipairs(queues) do -- when nothing more can be lost
    hand_over_waiting(P, queue)
  end
  return given_back
end
