--[[
  The last token that was drawn, for those who must know how far tokens have come.
]]
--- @include "try"

-- As text; before the first one, the smallest.
local function last_token(P)
  return try('GET', P .. 'token') or '00000000000'
end
