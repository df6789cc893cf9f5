--[[
  Calls of take, by their names: who calls, 16 characters, a colon, and the number of the call. P:take:<caller> is what
  the caller's last take got, "<call> <first token> <last token>"; P:take:<call>: that call is void, whenever it comes.
]]
local CALLER_LEN = 16
-- What a take got is kept as long as its lease lasts, at most this long.
local TAKE_KEPT_MS = 600000
-- A request can be late by as long as Redis stood still.
local VOID_KEPT_MS = 3600000

local function caller_of(call)
  return string.sub(call, 1, CALLER_LEN)
end
