--[[
  The idle set. P:idle has a worker by how many of its hands are taken, in thousandths (its level), and among equals
  since when it waits: level * LEVEL + microseconds modulo LEVEL. So the first one has the largest part of its hands
  free, and of those it has waited longest. A worker of one hand that is idle is always at level 0. Each 92 days those
  that became idle before come behind those of after once, which harms nobody. In ms too many would be equal, and then
  the one whose id comes first would get more than others.
]]
local LEVEL = 8e12
