--[[
  A token's text. Reads `number`, which it uses up. Sets `text`. Digit by digit, without a loop and a table: each hot
  script draws one.
]]
local d11 = number % 32
number = (number - d11) / 32
local d10 = number % 32
number = (number - d10) / 32
local d9 = number % 32
number = (number - d9) / 32
local d8 = number % 32
number = (number - d8) / 32
local d7 = number % 32
number = (number - d7) / 32
local d6 = number % 32
number = (number - d6) / 32
local d5 = number % 32
number = (number - d5) / 32
local d4 = number % 32
number = (number - d4) / 32
local d3 = number % 32
number = (number - d3) / 32
local d2 = number % 32
number = (number - d2) / 32
local text = string.char( -- 48: '0'; 87: 'a' less ten
  number + (number < 10 and 48 or 87), d2 + (d2 < 10 and 48 or 87), d3 + (d3 < 10 and 48 or 87),
  d4 + (d4 < 10 and 48 or 87), d5 + (d5 < 10 and 48 or 87), d6 + (d6 < 10 and 48 or 87),
  d7 + (d7 < 10 and 48 or 87), d8 + (d8 < 10 and 48 or 87), d9 + (d9 < 10 and 48 or 87),
  d10 + (d10 < 10 and 48 or 87), d11 + (d11 < 10 and 48 or 87))
