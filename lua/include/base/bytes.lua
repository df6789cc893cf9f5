--[[
  How many bytes of tasks one script may move: more would keep Redis from all its other clients. A task that is larger
  than all of them is moved alone. There are no functions here, because the hot scripts include it.
]]
local BYTES_MAX = 4194304
-- A message does not bring a larger task along; and a queue that may have one has the field `big` in its settings.
local INLINE_MAX = 16384
-- How many tasks a script takes without looking at their lengths first: as many as INLINE_MAX lets BYTES_MAX hold.
local BLIND_MAX = 256

local moved_bytes = 0 -- by this script
