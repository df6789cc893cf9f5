--[[
  How many hands of a worker are free. Reads `left`, the PTTL of its liveness key, and `w`, the fields epoch, ttl, hands,
  held and q:<queue> of its record, or the error instead of them. Sets `free`, which is 0 for a worker that is not fresh,
  whose `held` is a text that HINCRBY would not take, or who has a part of a hand; `hands` and `limit`.
]]
local ttl, hands, held, limit = tonumber(w[2]), tonumber(w[3]), w[4], tonumber(w[5])
held = held and #held <= 15 and string.match(held, '^%d+$') and tonumber(held)
local free = 0
if left > 0 and w[1] and ttl and hands and held and limit and left * 2 >= ttl and hands % 1 + limit % 1 == 0 then
  free = hands - held
end
