--[[
  A process has left the set of leases: whoever held it under a name holds it no more. Reads P, queue, `token`. Without
  a look at P:holders of the queue before, by `types`, it costs a command more. Sets `name`.
]]
local name = not was_absent(P .. 'holders:' .. queue) and try('HGET', P .. 'holders:' .. queue, token)
if name then
  redis.call('HDEL', P .. 'holders:' .. queue, token)
  try('ZREM', P .. 'holds:' .. name, token .. ':' .. queue)
end
