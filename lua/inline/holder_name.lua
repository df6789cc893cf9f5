--[[
  What the holder of a process is called: that of a lease by the name under which it was taken, if there is one. It must
  be asked for before forget_holder. Reads P, `worker`, `queue`, `token`. Sets `name`. Without a look at P:holders of the
  queue before, by `types`, it costs a command more for a lease.
]]
local name = worker == LEASE and not was_absent(P .. 'holders:' .. queue)
  and redis.pcall('HGET', P .. 'holders:' .. queue, token)
name = type(name) == 'string' and name or worker
