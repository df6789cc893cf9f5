--[[
  Retire: end one life of a worker. Its epoch ends first, so every later call of that life gets E_GONE. Then all that it
  holds comes back to its queues, to come out first, and is handed to idle workers. Its sets become homes by a RENAME:
  this costs the same whatever the sizes of the tasks are.
]]
--- @include "available"
--- @include "blame"
--- @include "put_back"
--- @include "heirs"
--- @include "moves"

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

-- A field of the record for each queue that has one, as text: queue -> value. `kind`: the letter before the colon.
local function fields_of(record, kind)
  local values = {}
  for i = 1, #record, 2 do
    if string.sub(record[i], 1, 2) == kind .. ':' then
      values[string.sub(record[i], 3)] = record[i + 1]
    end
  end
  return values
end

-- The homes of former lives that this one has not taken up yet, the last one first: {queue, homes}, each.
local function homes_of(record)
  local all = {}
  for i = 1, #record, 2 do
    if string.sub(record[i], 1, 2) == 'r:' then
      local homes = {}
      for home in string.gmatch(record[i + 1], '%S+') do
        homes[#homes + 1] = home
      end
      all[#all + 1] = {queue = string.sub(record[i], 3), homes = homes}
    end
  end
  return all
end

local function type_is(key, wanted)
  local found = redis.call('TYPE', key).ok
  return found == wanted or found == 'none'
end

-- The first key of a wrong type among these, name -> type; or nil.
local function wrong_one(P, wanted)
  for name, kind in pairs(wanted) do
    if not type_is(P .. name, kind) then
      return P .. name
    end
  end
end

-- The first key of a wrong type among those that a queue gets processes back with.
local function damaged_key_of(P, queue)
  local wrong = wrong_one(P, {['queues:' .. queue] = 'list', ['idle:' .. queue] = 'zset',
    ['queue:' .. queue] = 'hash', ['suspects:' .. queue] = 'hash', ['returned:' .. queue] = 'zset',
    ['failed:' .. queue] = 'zset', ['failures:' .. queue] = 'hash'})
  if wrong then
    return wrong
  end
  if redis.call('EXISTS', P .. 'running:' .. queue) == 1 and not Jobs.are_sound(P, queue) then
    return damaged
  end
end

-- The same for retiring the worker. Call this before anything is written: a WRONGTYPE halfway would lose tasks.
-- `homes`: those that it has not taken up, {queue, homes} each.
local function damaged_key(P, worker, queues, homes)
  local wrong = wrong_one(P, {registry = 'zset', ttls = 'zset', token = 'string', ['marks:' .. worker] = 'hash',
    ['notes:' .. worker] = 'hash'})
  for _, queue in ipairs(queues) do
    wrong = wrong or wrong_one(P, {['processing:' .. worker .. ':' .. queue] = 'hash'}) or damaged_key_of(P, queue)
  end
  for _, old in ipairs(homes) do
    for _, home in ipairs(old.homes) do
      wrong = wrong or wrong_one(P, {['home:' .. home .. ':' .. old.queue] = 'hash'}) or damaged_key_of(P, old.queue)
    end
  end
  return wrong
end

-- Ends a life: from here on every call of its epoch gets E_GONE. Returns {epoch, is_permanent, queues, homes, hands,
-- moves}; or nil and the name of a damaged key, with nothing changed.
local function end_life(P, worker)
  local key = P .. 'worker:' .. worker
  local record = redis.pcall('HGETALL', key)
  if record.err then
    return nil, key
  end
  local life = {queues = queues_of(record), homes = homes_of(record), hands = fields_of(record, 's'),
    moves = fields_of(record, 'o')}
  local wrong = damaged_key(P, worker, life.queues, life.homes)
  if wrong then
    return nil, wrong
  end
  for i = 1, #record, 2 do
    life.epoch = record[i] == 'epoch' and record[i + 1] or life.epoch
    life.is_permanent = life.is_permanent or (record[i] == 'permanent' and record[i + 1] == '1')
  end
  redis.call('DEL', key, P .. 'alive:' .. worker)
  return life
end

local function open_set(P, worker, queue)
  local key = P .. 'processing:' .. worker .. ':' .. queue
  local fields = redis.call('HKEYS', key)
  return {queue = queue, key = key, held = #fields, fields = fields, begun = begun_of(P, queue, fields)}
end

-- The set becomes a home, whose name is returned. A life has one home in a queue, unless it left the queue before.
local function bring_home(P, set, epoch)
  local home = epoch
  if not home or #home ~= TOKEN_LEN or redis.call('EXISTS', home_key(P, home, set.queue)) == 1 then
    home = select(2, draw_tokens(P, 1))
  end
  redis.call('RENAME', set.key, home_key(P, home, set.queue))
  return home
end

-- What a life has not taken up of a queue: the homes, {home, fields} each without what was marked, and how many
-- processes were in them.
local function open_homes(P, worker, queue, names)
  local homes, held = {}, 0
  for _, home in ipairs(names) do
    local key = home_key(P, home, queue)
    local fields = redis.call('HKEYS', key)
    held = held + #fields
    homes[#homes + 1] = {home = home, fields = drop_marked(P, worker, queue, key, fields)}
  end
  return homes, held
end

-- To bring one job to its place costs as much as to note that so many processes came back.
local SETTLING_COST = 50

-- Gives back one set, whose fields are sorted out, and homes that were not taken up. Returns how many processes went
-- back.
local function give_back(P, worker, queue, set, epoch, names)
  local homes, held = open_homes(P, worker, queue, names)
  if set and #set.fields > 0 then
    table.insert(homes, 1, {home = bring_home(P, set, epoch), fields = set.fields})
  end
  held = held + (set and set.held or 0)
  local firsts, n = read_firsts(P, worker, queue), 0
  for _, home in ipairs(homes) do
    add_returned(P, queue, home.home, home.fields, firsts)
    n = n + #home.fields
  end
  Settled.n = Settled.n + n / SETTLING_COST
  if next(firsts) then
    redis.call('DEL', firsts_key(P, worker, queue))
  end
  if held > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'running', -held)
  end
  settle(P, queue)
  return n
end

-- Gives back all that a worker that lives holds of a queue. Returns how many processes went back, and how many of them
-- its set held. `names`: homes that it has not taken up.
local function give_back_set(P, worker, queue, epoch, names)
  local set = open_set(P, worker, queue)
  set.fields = drop_marked(P, worker, queue, set.key, set.fields)
  blame(P, worker, {set}, false)
  return give_back(P, worker, queue, set, epoch, names or {}), set.held
end

-- At most this many workers are tried as the timer's next keeper.
local HEIRS_MAX = 10

local function forget_worker(P, worker)
  redis.call('DEL', P .. 'marks:' .. worker, P .. 'notes:' .. worker)
  if try('GET', P .. 'timer') == worker then -- if nobody takes it, the next heartbeat of any worker does
    redis.call('DEL', P .. 'timer')
    hand_on_timer(P, worker, redis.call('ZREVRANGE', P .. 'registry', 0, HEIRS_MAX - 1))
  end
end

-- Retires a worker. Returns how many processes were given back, nil, and how many failed, group "crashed"; or nil and
-- the name of the damaged key that prevents it. `died`: it died holding them, which one of them may have caused. A
-- permanent worker is expected to go away.
local function retire(P, worker, died)
  local life, wrong = end_life(P, worker)
  if not life then
    return nil, wrong
  end
  redis.call('ZREM', P .. 'registry', worker)
  redis.call('ZREM', P .. 'ttls', worker)
  local sets, set_of, names_of, given_back = {}, {}, {}, 0
  for _, queue in ipairs(life.queues) do
    redis.call('ZREM', P .. 'idle:' .. queue, worker)
    leave_shares(P, worker, life.epoch, queue, life.hands[queue], life.moves[queue])
    local set = open_set(P, worker, queue)
    set.fields = drop_marked(P, worker, queue, set.key, set.fields)
    sets[#sets + 1], set_of[queue] = set, set
  end
  blame(P, worker, sets, died and not life.is_permanent)
  for _, old in ipairs(life.homes) do
    names_of[old.queue] = old.homes
    if not set_of[old.queue] then
      life.queues[#life.queues + 1] = old.queue
    end
  end
  for _, queue in ipairs(life.queues) do
    given_back = given_back + give_back(P, worker, queue, set_of[queue], life.epoch, names_of[queue] or {})
  end
  forget_worker(P, worker)
  for _, queue in ipairs(life.queues) do -- only now, when nothing can be lost any more
    hand_over_waiting(P, queue)
  end
  hand_over_jobs(P)
  return given_back, nil, n_crashed
end

-- Ends a life whose processes the next life of its id takes up, under new tokens (script take_up); marks stay with
-- them. Checks and blame are those of retire(). `keeps`: whether those of a queue stay for that life; the others go
-- back. Returns how many processes stay, and the record's fields that name the homes; or nil and the name of a damaged
-- key.
local function resume(P, worker, keeps)
  local life, wrong = end_life(P, worker)
  if not life then
    return nil, wrong
  end
  redis.call('DEL', P .. 'notes:' .. worker)
  local sets, names_of, back, n = {}, {}, {}, 0
  for _, old in ipairs(life.homes) do
    if keeps(old.queue) then
      names_of[old.queue] = table.concat(old.homes, ' ')
    else
      back[old.queue] = {names = old.homes}
    end
    for _, home in ipairs(keeps(old.queue) and old.homes or {}) do
      n = n + redis.call('HLEN', home_key(P, home, old.queue))
    end
  end
  for _, queue in ipairs(life.queues) do
    redis.call('ZREM', P .. 'idle:' .. queue, worker)
    leave_shares(P, worker, life.epoch, queue, life.hands[queue], life.moves[queue])
    local set = open_set(P, worker, queue)
    if not keeps(queue) then
      set.fields = drop_marked(P, worker, queue, set.key, set.fields)
      back[queue] = {names = back[queue] and back[queue].names or {}, set = set}
    end
    sets[#sets + 1] = set
  end
  blame(P, worker, sets, not life.is_permanent)
  for _, set in ipairs(sets) do
    if not back[set.queue] and #set.fields > 0 then
      local old = names_of[set.queue]
      names_of[set.queue] = bring_home(P, set, life.epoch) .. (old and ' ' .. old or '')
      n = n + #set.fields
    end
    if not back[set.queue] and #set.fields < set.held then
      try('HINCRBY', P .. 'queue:' .. set.queue, 'running', #set.fields - set.held)
      touched_by_jobs[set.queue] = true -- a place is free: the queue may have a limit
    end
  end
  for queue, old in pairs(back) do
    give_back(P, worker, queue, old.set, life.epoch, old.names)
  end
  for queue in pairs(back) do
    hand_over_waiting(P, queue)
  end
  hand_over_jobs(P)
  local record = {}
  for queue, names in pairs(names_of) do
    record[#record + 1] = 'r:' .. queue
    record[#record + 1] = names
  end
  return n, record
end
