--[[
  What the holder of a process is called: that of a lease by the name under which it was taken, if there is one. It must
  be asked for before forget_holder. Reads P, `worker`, `queue`, `token`. Sets `name`.
]]
local name = worker == LEASE and redis.pcall('HGET', P .. 'holders:' .. queue, token)
name = type(name) == 'string' and name or worker
