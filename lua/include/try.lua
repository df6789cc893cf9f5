--[[
  Calls that must not end a script: a key of the wrong type costs its own queue or worker only.
]]
local damaged -- the last such key that was met

-- What Redis answered, or nil for a key of the wrong type.
local function try(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  if type(answer) == 'table' and answer.err then
    damaged = key
    return nil
  end
  return answer
end
