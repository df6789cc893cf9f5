--[[
  Is a queue heard? It is while somebody listens to its announcements (the field `listen`: until when, ms), and always
  if they are published without listeners too (its setting `broadcast`).
]]
--- @include "clock"

local function is_heard(listen, broadcast)
  return (broadcast and broadcast ~= '0') or (listen and (tonumber(listen) or 0) > now_ms())
end
