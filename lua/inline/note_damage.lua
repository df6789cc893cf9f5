--[[
  Notes in a turn's result that a key is damaged. Reads `answer`, a command's, `key` and `result`.
]]
do
  --- @inline "damage"
  result[3] = is_damage and key or result[3]
end
