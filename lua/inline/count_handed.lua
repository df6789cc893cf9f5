--[[
  Counts what was handed over of a queue. Reads P, queue, `given`, and `running` and `out` as the queue's record holds
  them, both of them good counts.
]]
redis.call('HSET', P .. 'queue:' .. queue, 'running', string.format('%d', running + given),
  'out', string.format('%d', out + given)) -- as text: Redis writes a number out more slowly
