--[[
  Draws n tokens that follow each other. Reads P, `n`, and `from`, the first one's number as the clock says it. Sets
  `from` to the number that it got, `last`, the last one's text, and `is_drawn`. False: nothing was changed, and `answer`
  is the error, mostly because the counter is damaged. A counter from where numbers are no longer exact counts as none.
]]
local last
do
  local number = from + n - 1
  --- @inline "token_digits"
  last = text
end
local answer = redis.pcall('SET', P .. 'token', last, 'GET')
local is_drawn = type(answer) ~= 'table'
local before = is_drawn and answer and tonumber(answer, 32)
if before and before >= from and before < 2 ^ 53 - n then
  from = before + 1
  local number = from + n - 1
  --- @inline "token_digits"
  last = text
  redis.call('SET', P .. 'token', last)
end
