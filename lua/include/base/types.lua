--[[
  Types, before the first write: a WRONGTYPE after it would lose what was moved. Each key is asked once in a script, for
  no script changes a type.
]]
--- @include "try"

local asked = {}

-- Has a key the type of this command, which counts what is in it? Nil if not.
local function has_type(command, key)
  asked[key] = asked[key] or try(command, key)
  return asked[key]
end

-- The same of several, {command, key, ...}. One look is enough where none of them is there: so those that are mostly
-- not there are asked together, and apart from others.
local function have_types(commands)
  local keys = {}
  for i = 2, #commands, 2 do
    keys[#keys + 1] = not asked[commands[i]] and commands[i] or nil
  end
  if #keys == 0 then
    return true
  elseif redis.call('EXISTS', unpack(keys)) == 0 then
    for _, key in ipairs(keys) do
      asked[key] = 0
    end
    return true
  end
  for i = 1, #commands, 2 do
    if not has_type(commands[i], commands[i + 1]) then
      return false
    end
  end
  return true
end

-- A key was read, and has its type.
local function note_type(key)
  asked[key] = asked[key] or 1
end

-- Was a key asked, and not there? What this script has written since is not seen.
local function was_absent(key)
  return asked[key] == 0
end
