--[[
  Puts one task into a worker's hands. Reads P, queue, worker, epoch, token, task and is_suspect. Sets `is_handed`:
  false, with nothing changed, if the message reached nobody, if the caller may not publish, or if the set is damaged.
  It is safe to undo after the SPUBLISH: nobody has read the message here. Who has read it at a replica is told so. That
  of a larger task has its token alone, and the worker fetches the task: Redis copies a message for each reader.
]]
local set, is_handed = P .. 'processing:' .. worker .. ':' .. queue, false
if type(redis.pcall('HSET', set, token, task)) == 'number' then
  local kind = is_suspect and 'A' or #task > INLINE_MAX and 'F' or 'T'
  local readers = redis.pcall('SPUBLISH', C .. ':wake:' .. worker, kind .. epoch .. token
    .. string.format('%03d', #queue) .. queue .. (kind == 'T' and task or ''))
  is_handed = type(readers) == 'number' and readers > 0
  if not is_handed then
    redis.call('HDEL', set, token)
    redis.pcall('SPUBLISH', C .. ':wake:' .. worker, 'U' .. epoch .. token)
  end
end
