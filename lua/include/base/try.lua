--[[
  Calls that must not end a script: a key of the wrong type costs its own queue or worker only.
]]
local damaged -- the last key of a wrong type that was met

-- Returns what Redis answered; nil for a key of the wrong type, or for a counter that is no number.
local function try(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  --- @inline "damage"
  if not is_damage then
    return answer
  end
  damaged = key
end
