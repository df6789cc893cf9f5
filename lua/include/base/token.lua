--[[
  Tokens: microseconds of the server's clock, raised where needed so that tokens always rise. As text they are eleven
  base-32 digits (0-9, a-v), which sort as the numbers do. Numbers up to 2^53 are exact in Lua, which lasts until the
  year 2255. Lua compares strings by the server's locale, so tokens are compared as numbers, never as text.
]]
--- @include "clock"

local TOKEN_LEN = 11
local JOB_BYTE = 106 -- 'j': before a token it says that a job is meant

local function token_number(text)
  return tonumber(text, 32)
end

local function token_text(number)
  local bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} -- full length from the start: the table need not grow
  for i = TOKEN_LEN, 1, -1 do
    local digit = number % 32
    bytes[i] = digit + (digit < 10 and 48 or 87) -- 48: '0'; 87: 'a' less ten
    number = (number - digit) / 32
  end
  return string.char(unpack(bytes))
end

local last_drawn -- by this script: the clock stands still while it runs

-- Draws n tokens that follow each other. Returns the first one's number and the last one's text. Raises an error if the
-- counter is damaged: so draw tokens before you write anything that must not be lost.
local function draw_tokens(P, n)
  local first = last_drawn and last_drawn + 1 or now_us()
  local last = token_text(first + n - 1)
  local before = redis.call('SET', P .. 'token', last, 'GET')
  before = before and token_number(before)
  if before and before >= first then
    first = before + 1
    last = token_text(first + n - 1)
    redis.call('SET', P .. 'token', last)
  end
  last_drawn = first + n - 1
  return first, last
end
