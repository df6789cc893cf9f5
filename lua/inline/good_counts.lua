--[[
  What a queue's record says of its processes. Reads `settings`, where `running` is the sixth field and `out` the tenth.
  Sets `running` and `out`, and `are_good`: are both good counts?
]]
local running, out = tonumber(settings[6] or 0) or -1, tonumber(settings[10] or 0) or -1
local are_good = running >= 0 and running < 1e15 and out >= 0 and out < 1e15
