--[[
  Whether more of a worker's hands are taken than its idle entry says: in another queue. Reads `free`, `hands` and the
  entry's score, `was`. Sets `score`, which the entry should have, or false.
]]
local level = math.floor((hands - free) * 1000 / hands)
local score = level > 0 and level > math.floor(was / LEVEL) and level * LEVEL + math.max(was, 0) % LEVEL
