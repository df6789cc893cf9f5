--[[
  Whether a key is damaged. Reads `answer`, a command's. Sets `is_damage`: it is the error of a key of the wrong type,
  or of a counter that is no number, or the largest that there is. Raises any other error, as the caller's key is not
  damaged then: denied, or Redis is full.
]]
local is_damage = type(answer) == 'table' and answer.err and true
if is_damage and string.sub(answer.err, 1, 9) ~= 'WRONGTYPE'
  and not string.find(answer.err, 'not an integer', 1, true)
  and not string.find(answer.err, 'would overflow', 1, true) then
  error(answer)
end
