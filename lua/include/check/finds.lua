--[[
  Finds: what a check has found. The script that finds something repairs it too: between two scripts anything may
  change. A find must be something that no rule allows after any script.
]]
--- @include "try"

-- A check. Its `answer` is the script's answer: 0, an element for the script itself to set, then for each find its key,
-- what is wrong, and 1 if it was repaired. `can_mend`, if it is given, tells whether all keys that repairs write have
-- the right types; if not, it has left one in `damaged`. What a script can read it looks at all the same.
local function new_check(P, repair, can_mend)
  return {P = P, repair = repair == '1', can_mend = can_mend, answer = {0, 0}}
end

-- Notes a find. mend() repairs it and returns what it did; or nil and a key of the wrong type that prevents it, with
-- nothing changed. Without mend() the find is left to people.
local function note_find(check, key, what, mend)
  local done, obstacle
  if mend and check.repair and check.can_mend and not check.can_mend() then
    obstacle = damaged
  elseif mend and check.repair then
    try('HDEL', check.P .. 'beat', '-') -- needs no memory, so that a full Redis allows the others
    done, obstacle = mend()
  end
  if done then
    what = what .. ': ' .. done
  elseif obstacle then
    what = what .. '; it stays so while ' .. obstacle .. ' has a wrong type'
  end
  local answer = check.answer
  answer[#answer + 1] = key
  answer[#answer + 1] = what
  answer[#answer + 1] = done and 1 or 0
end

-- "1 task", "2 tasks".
local function plural(n, thing)
  return n .. ' ' .. thing .. (n == 1 and '' or 's')
end
