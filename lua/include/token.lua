--[[
  Tokens: microseconds of the server's clock, raised where needed so that they always rise, as eleven base-32 digits
  (0-9, a-v) that sort as they count. Numbers up to 2^53 are exact in Lua, which lasts until the year 2255.
  Lua compares strings by the server's locale, so tokens are compared as numbers, never as text.
]]
local DIGITS = '0123456789abcdefghijklmnopqrstuv'

local function token_number(text)
  return tonumber(text, 32)
end

-- All but the last two digits, for a run of tokens that shares them.
local function token_head(number)
  local head, rest = '', (number - number % 1024) / 1024
  for _ = 1, 9 do
    local digit = rest % 32
    head = string.sub(DIGITS, digit + 1, digit + 1) .. head
    rest = (rest - digit) / 32
  end
  return head
end

local function token_tail(number)
  local low = number % 1024
  local digit = low % 32
  local upper = (low - digit) / 32
  return string.sub(DIGITS, upper + 1, upper + 1) .. string.sub(DIGITS, digit + 1, digit + 1)
end

local function token_text(number)
  return token_head(number) .. token_tail(number)
end

-- Draws n tokens that follow each other and returns the first one's number. Raises if the counter is damaged: so draw
-- before anything is written that must not be lost.
local function draw_tokens(P, n)
  local time = redis.call('TIME')
  local first = time[1] * 1000000 + time[2]
  local old = redis.call('SET', P .. 'token', token_text(first + n - 1), 'GET')
  if old then
    local last = token_number(old)
    if last and last >= first then
      first = last + 1
      redis.call('SET', P .. 'token', token_text(first + n - 1))
    end
  end
  return first
end

-- The last token drawn, as text; before the first one, the smallest.
local function last_token(P)
  return redis.call('GET', P .. 'token') or '00000000000'
end
