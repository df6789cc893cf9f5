--[[
  The idle entry of a worker that got tasks. Reads P, queue, worker, `free` and `hands` as they were before, `done`, how
  many it got, and `us`, the time.
]]
if done == free then
  redis.call('ZREM', P .. 'idle:' .. queue, worker)
else
  redis.call('ZADD', P .. 'idle:' .. queue, 'XX', math.floor((hands - free + done) * 1000 / hands) * LEVEL
    + us % LEVEL, worker)
end
