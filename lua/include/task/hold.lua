--[[
  Holding: puts tasks that were taken into a set, under tokens that follow each other.
]]
--- @include "bytes"
--- @include "token"

local DIGITS = '0123456789abcdefghijklmnopqrstuv'
local VALUES_MAX = 2000 -- far below the limit of unpack(), about 8 000

-- Draws a token for each task and puts them into a set. Returns the first token, and whether one of them is larger than
-- what is taken without a look at it.
local function hold(P, set, tasks)
  local n = #tasks
  local first, last = draw_tokens(P, n)
  if n == 1 then
    redis.call('HSET', set, last, tasks[1])
    return last, #tasks[1] > INLINE_MAX
  end
  local sub, fields, at, i, is_large = string.sub, {}, 0, 1, false
  while i <= n do -- in runs of tokens that differ in the last digit only
    local number = first + i - 1
    local head, digit = sub(token_text(number), 1, TOKEN_LEN - 1), number % 32
    for k = i, math.min(i + 31 - digit, n) do
      digit = digit + 1
      fields[at + 1] = head .. sub(DIGITS, digit, digit)
      fields[at + 2] = tasks[k]
      is_large = is_large or #tasks[k] > INLINE_MAX
      at, i = at + 2, k + 1
    end
    if at >= VALUES_MAX or i > n then
      redis.call('HSET', set, unpack(fields))
      fields, at = {}, 0
    end
  end
  return token_text(first), is_large
end
