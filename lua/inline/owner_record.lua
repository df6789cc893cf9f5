--[[
  Who calls. Reads P, worker, epoch and conn. Sets `w`, the worker's {epoch, conn, hands, held, ttl, permanent, flag},
  and `status`: 0, or the error to answer. A `held` that is no count is counted anew.
  Raises an error that names the record, if it is of a wrong type.
]]
local w = redis.pcall('HMGET', P .. 'worker:' .. worker, 'epoch', 'conn', 'hands', 'held', 'ttl', 'permanent',
  'flag')
if w.err and string.sub(w.err, 1, 9) == 'WRONGTYPE' then
  error({err = "WRONGTYPE the key '" .. P .. 'worker:' .. worker
    .. "' has a wrong type; `muster check` says what to do"})
elseif w.err then
  error(w)
end
local status = w[1] ~= epoch and E_GONE or w[2] ~= conn and E_STATE or 0
if status == 0 and not (w[4] and #w[4] <= 15 and string.match(w[4], '^%d+$')) then
  local key, n = P .. 'worker:' .. worker, 0
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local in_set = string.sub(field, 1, 2) == 'q:'
      and redis.pcall('HLEN', P .. 'processing:' .. worker .. ':' .. string.sub(field, 3))
    n = n + (type(in_set) == 'number' and in_set or 0)
  end
  w[4] = string.format('%d', n)
  redis.call('HDEL', key, '-') -- needs no memory, so that a full Redis allows the others
  redis.call('HSET', key, 'held', w[4])
end
