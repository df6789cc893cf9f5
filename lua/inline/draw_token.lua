--[[
  Draws n tokens that follow each other. Reads P, `n`, and `from`, the first one's number as the clock says it. Sets
  `from` to the number that it got, and `last`, the last one's text. Raises an error if the counter is damaged: so draw
  tokens before you write anything that must not be lost.
]]
local last
do
  local number = from + n - 1
  --- @inline "token_digits"
  last = text
end
local before = redis.call('SET', P .. 'token', last, 'GET')
before = before and tonumber(before, 32)
if before and before >= from then
  from = before + 1
  local number = from + n - 1
  --- @inline "token_digits"
  last = text
  redis.call('SET', P .. 'token', last)
end
