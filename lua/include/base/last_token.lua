--[[
  The last token that was drawn: a caller learns from it how far tokens have come.
]]
--- @include "try"

-- As text. If none was drawn yet, the smallest token.
local function last_token(P)
  return try('GET', P .. 'token') or '00000000000'
end
