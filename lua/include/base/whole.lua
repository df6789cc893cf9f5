--[[
  Numbers that somebody may have written by hand: settings, counters, times. Only digits count, at most fifteen, so that
  a Lua number holds them exactly. (src/lib/client/config.c reads settings by the same rule.)
]]

-- The number of a text, or nil. A field that is not there (false) is none.
local function whole(text)
  return text and #text <= 15 and tonumber(string.match(text, '^%d+$')) or nil
end
