--[[
  Calls that must not end a script: a key of the wrong type costs its own queue or worker only.
]]
local damaged -- the last such key that was met

-- What Redis answered, or nil for a key of the wrong type or a counter that is no number.
local function try(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  if type(answer) ~= 'table' or not answer.err then
    return answer
  end
  if string.sub(answer.err, 1, 9) ~= 'WRONGTYPE' and not string.find(answer.err, 'not an integer', 1, true) then
    error(answer) -- denied, or full: that is another matter
  end
  damaged = key
end
