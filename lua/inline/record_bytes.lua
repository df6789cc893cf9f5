--[[
  How many bytes a job's record has, as far as its length can be why Redis does not send it: those of its long values.
  The others are few, and change with each take. Reads `flat`, the record as HGETALL answered it. Sets `n_bytes`.
]]
local n_bytes = 0
for at = 2, #flat, 2 do
  n_bytes = n_bytes + (#flat[at] > 1024 and #flat[at] or 0)
end
