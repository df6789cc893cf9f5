--[[
  The idle entry of a worker that got tasks. Reads P, queue, worker, `free` and `hands` as they were before, `done`, how
  many it got, and `us`, the time. The score goes as text: Redis writes a number out more slowly.
]]
if done == free then
  redis.call('ZREM', P .. 'idle:' .. queue, worker)
else
  redis.call('ZADD', P .. 'idle:' .. queue, 'XX', string.format('%d',
    math.floor((hands - free + done) * 1000 / hands) * LEVEL + us % LEVEL), worker)
end
