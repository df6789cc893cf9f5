--[[
  Handing the timer on to another worker.
]]
--- @include "try"
--- @include "silence"

-- Makes the first of these workers that lives and hears of it the keeper. Was there one? It keeps the timer only for as
-- long as its next heartbeat may take: a worker with a long ttl may have died long before anybody sees it.
local function hand_on_timer(P, worker, heirs)
  for _, heir in ipairs(heirs) do
    local left = heir ~= worker and redis.call('PTTL', P .. 'alive:' .. heir) or 0
    local epoch = left > 0 and try('HGET', P .. 'worker:' .. heir, 'epoch')
    local readers = epoch and redis.pcall('SPUBLISH', C .. ':wake:' .. heir, 'S' .. epoch)
    if type(readers) == 'number' and readers > 0 then
      redis.pcall('SET', P .. 'timer', heir, 'PX', math.min(left, shortest_ttl(P) or left))
      return true
    end
  end
  return false
end
