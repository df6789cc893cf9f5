--[[
  Who calls: every call of a worker carries its epoch and the number of its data connection. It is refused if that life
  of the worker is over (E_GONE), or if a later connection has taken over (E_STATE: a late request of a dead
  connection).
]]

-- Returns the status, 0 or the error to answer, and the worker's record.
local function check_owner(P, worker, epoch, conn)
  --- @inline "owner_record"
  return status, w
end

-- Stores how many hands the worker has, if that changed.
local function store_hands(P, worker, w, hands)
  if w[3] ~= hands then
    redis.call('HSET', P .. 'worker:' .. worker, 'hands', hands)
  end
end
