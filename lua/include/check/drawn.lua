--[[
  Drawn tokens: is a text a token that this namespace can have drawn? One from far ahead is not: if the counter were
  raised to it, tokens would soon no longer be exact.
]]
--- @include "token"
--- @include "try"

local AHEAD_US = 86400000000
-- Above this numbers are not exact.
local EXACT_MOST = 2 ^ 53 - 1

-- The highest number that a token can have by now: that of the last one drawn, but at least the clock and a day, for
-- the last one may be lost.
local function highest_drawn(P)
  local time, last = redis.call('TIME'), try('GET', P .. 'token')
  local number = last and #last == TOKEN_LEN and token_number(last) or 0
  return math.max(number <= EXACT_MOST and number or 0, time[1] * 1000000 + time[2] + AHEAD_US)
end

-- The number of a token's text, or nil. `highest` is highest_drawn().
local function drawn_number(text, highest)
  local number = #text == TOKEN_LEN and not string.find(text, '[^0-9a-v]') and token_number(text)
  return number and number <= highest and number or nil
end
