--[[
  Drawn tokens: a text is one only if the namespace can have drawn it. One from far ahead is none: were the counter
  raised to it, tokens would soon no longer be exact.
]]
--- @include "token"
--- @include "try"

local AHEAD_US = 86400000000

-- The highest number that a token can have by now: the last one's, or the clock's and a day, should the last be lost.
local function highest_drawn(P)
  local time, last = redis.call('TIME'), try('GET', P .. 'token')
  return math.max(last and #last == 11 and token_number(last) or 0, time[1] * 1000000 + time[2] + AHEAD_US)
end

-- The number of a token's text, or nil. `highest` is highest_drawn().
local function drawn_number(text, highest)
  local number = #text == 11 and not string.find(text, '[^0-9a-v]') and token_number(text)
  return number and number <= highest and number or nil
end
