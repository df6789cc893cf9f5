--[[
  Tokens: microseconds of the server's clock, raised where needed so that they always rise, as eleven base-32 digits
  (0-9, a-v) that sort as they count. Numbers up to 2^53 are exact in Lua, which lasts until the year 2255.
  Lua compares strings by the server's locale, so tokens are compared as numbers, never as text.
]]
--- @include "clock"

local DIGITS = '0123456789abcdefghijklmnopqrstuv'

local function token_number(text)
  return tonumber(text, 32)
end

local function token_text(number)
  local bytes = {}
  for i = 11, 1, -1 do
    local digit = number % 32
    bytes[i] = digit + (digit < 10 and 48 or 87)
    number = (number - digit) / 32
  end
  return string.char(unpack(bytes))
end

-- Draws n tokens that follow each other and returns the first one's number and the last one's text. Raises if the counter
-- is damaged: so draw before anything is written that must not be lost.
local function draw_tokens(P, n)
  local first = now_us()
  local last = token_text(first + n - 1)
  local before = redis.call('SET', P .. 'token', last, 'GET')
  before = before and token_number(before)
  if before and before >= first then
    first = before + 1
    last = token_text(first + n - 1)
    redis.call('SET', P .. 'token', last)
  end
  return first, last
end

-- The last token drawn, as text; before the first one, the smallest.
local function last_token(P)
  return redis.call('GET', P .. 'token') or '00000000000'
end

-- Draws a token for each task and puts them into a set. Returns the first token.
local function hold(P, set, tasks)
  local n = #tasks
  local first, last = draw_tokens(P, n)
  if n == 1 then
    redis.call('HSET', set, last, tasks[1])
    return last
  end
  local sub, fields, at, i = string.sub, {}, 0, 1
  while i <= n do -- in runs that share all digits but the last
    local number = first + i - 1
    local head, digit = sub(token_text(number), 1, 10), number % 32
    for k = i, math.min(i + 31 - digit, n) do
      digit = digit + 1
      fields[at + 1] = head .. sub(DIGITS, digit, digit)
      fields[at + 2] = tasks[k]
      at, i = at + 2, k + 1
    end
    if at >= 2000 or i > n then -- far below the limit of unpack(), about 8 000
      redis.call('HSET', set, unpack(fields))
      fields, at = {}, 0
    end
  end
  return token_text(first)
end
