--[[
  A token's text. Reads `number`, which it uses up. Sets `text`.
]]
local bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} -- full length from the start: the table need not grow
for i = 11, 1, -1 do
  local digit = number % 32
  bytes[i] = digit + (digit < 10 and 48 or 87) -- 48: '0'; 87: 'a' less ten
  number = (number - digit) / 32
end
local text = string.char(unpack(bytes))
