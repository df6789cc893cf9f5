--[[
  Tokens: microseconds of the server's clock, raised where needed so that tokens always rise. As text they are eleven
  base-32 digits (0-9, a-v), which sort as the numbers do. Numbers up to 2^53 are exact in Lua, which lasts until the
  year 2255. Lua compares strings by the server's locale, so tokens are compared as numbers, never as text.
]]
--- @include "clock"

local TOKEN_LEN = 11
local JOB_BYTE = 106 -- 'j': before a token it says that a job is meant

-- 0 for what is no token.
local function token_number(text)
  return tonumber(text, 32) or 0
end

local function token_text(number)
  --- @inline "token_digits"
  return text
end

local last_drawn -- by this script: the clock stands still while it runs

-- Draws n tokens that follow each other. Returns the first one's number and the last one's text.
local function draw_tokens(P, n)
  local from = last_drawn and last_drawn + 1 or now_us()
  --- @inline "draw_token"
  if not is_drawn then
    error(answer)
  end
  last_drawn = from + n - 1
  return from, last
end
