--[[
  Is a queue heard: does somebody listen to its announcements (the field `listen`: until when, ms), or are they
  published always (its setting `broadcast`)?
]]
--- @include "clock"

local function is_heard(listen, broadcast)
  return (broadcast and broadcast ~= '0') or (listen and (tonumber(listen) or 0) > now_ms())
end
