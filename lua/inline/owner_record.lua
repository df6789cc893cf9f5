--[[
  Who calls. Reads P, worker, epoch and conn. Sets `w`, the worker's {epoch, conn, hands, held, ttl, permanent, flag},
  and `status`: 0, or the error to answer.
]]
local w = redis.call('HMGET', P .. 'worker:' .. worker, 'epoch', 'conn', 'hands', 'held', 'ttl', 'permanent',
  'flag')
local status = w[1] ~= epoch and E_GONE or w[2] ~= conn and E_STATE or 0
