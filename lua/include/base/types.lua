--[[
  Types of keys, to be checked before the first write: a WRONGTYPE after it would lose what was moved. A script asks for
  each key once, because no script changes the type of a key.
]]
--- @include "try"

local asked = {}

-- Has a key the right type? `command` is one of this type that counts the key's elements. Nil if not.
local function has_type(command, key)
  asked[key] = asked[key] or try(command, key)
  return asked[key]
end

-- The same for several keys, {command, key, ...}. If none of them is there, one EXISTS is enough: so ask for keys that
-- are mostly not there together, and for others apart.
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

-- Notes that a key was read, and has its type.
local function note_type(key)
  asked[key] = asked[key] or 1
end

-- Was a key asked for, and not there? The answer does not know what this script has written since.
local function was_absent(key)
  return asked[key] == 0
end
