--[[
  How many values one unpack() passes to a command: far below Lua's limit of about 8 000.
]]
local CHUNK = 1000
