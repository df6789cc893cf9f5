--[[
  Calls that must not end a script: a key of the wrong type costs its own queue or worker only.
]]
local damaged -- the last key of a wrong type that was met

-- Returns what Redis answered; nil for a key of the wrong type, or for a counter that is no number.
local function try(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  if type(answer) ~= 'table' or not answer.err then
    return answer
  end
  if string.sub(answer.err, 1, 9) ~= 'WRONGTYPE' and not string.find(answer.err, 'not an integer', 1, true) then
    error(answer) -- denied, or Redis is full: the caller's key is not damaged
  end
  damaged = key
end
