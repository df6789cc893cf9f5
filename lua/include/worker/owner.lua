--[[
  Who calls: every call of a worker carries its epoch and the number of its data connection. It is refused if that life
  of the worker is over (E_GONE), or if a later connection has taken over (E_STATE: a late request of a dead
  connection).
]]

-- Returns 0 and the worker's record {epoch, conn, hands, held, ttl, permanent, flag}, or the error to answer.
local function check_owner(P, worker, epoch, conn)
  local w = redis.call('HMGET', P .. 'worker:' .. worker, 'epoch', 'conn', 'hands', 'held', 'ttl', 'permanent',
    'flag')
  if w[1] ~= epoch then
    return E_GONE
  end
  if w[2] ~= conn then
    return E_STATE
  end
  return 0, w
end

-- Stores how many hands the worker has, if that changed.
local function store_hands(P, worker, w, hands)
  if w[3] ~= hands then
    redis.call('HSET', P .. 'worker:' .. worker, 'hands', hands)
  end
end
