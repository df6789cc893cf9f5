--[[
  The idle entry of a worker. Reads `hands`, `room`, how many of these are free on the queue, and `us`, the time. Sets
  `score`, as text: Redis writes a number out more slowly.
]]
local score = string.format('%d', math.floor((hands - room) * 1000 / hands) * LEVEL + us % LEVEL)
