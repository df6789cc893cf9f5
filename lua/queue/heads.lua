--[[
  heads: reads for people, and brings only the beginning of what is long.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] how many bytes a text may have
    ARGV[2] how many bytes the answer may have; one text comes whatever it has
    ARGV[3...] for each command that reads: how many words follow; its name; its key, without the root; its other words
  Returns {how many elements of the last range are left out at its end, a key of the wrong type or 0, the answer of each
  command}. A text that is longer is {its length, its beginning}. For a key of the wrong type the answer is nil. The
  command with which the answer has all its bytes is the last one that is answered. Of a range by rank it has those that
  fit; elsewhere a text of more than 256 bytes that does not fit is {its length, ''}.
  Writes nothing, publishes nothing. O(what the commands read).
]]
--- @include "try"

local P, most, room = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local used = 0
local ranges = ' LRANGE ZRANGE ZREVRANGE '
local reads = ' HSCAN ZSCAN HGET HGETALL HMGET LRANGE ZRANGE ZREVRANGE ZRANGEBYSCORE '

local function fits(text)
  local n = math.min(#text, most)
  return n <= 256 or used == 0 or used + n <= room
end

local function cut(answer)
  if type(answer) == 'string' then
    local head = fits(answer) and string.sub(answer, 1, most) or ''
    used = used + #head
    return #head < #answer and {#answer, head} or answer
  elseif type(answer) == 'table' then
    for i = 1, #answer do
      answer[i] = cut(answer[i])
    end
  end
  return answer
end

-- Leaves out what does not fit, at the end, and returns how much that is. With scores each member goes with its own. It
-- counts as cut() does: a member that stays here and did not fit there would have lost its beginning.
local function shorten(answer, has_scores)
  local before, i, step = used, 1, has_scores and 2 or 1
  while answer[i] and (used == 0 or (fits(answer[i]) and used < room)) do
    used = used + math.min(#answer[i], most) + (has_scores and #answer[i + 1] or 0)
    i = i + step
  end
  used = before
  local left_out = #answer - i + 1
  for k = #answer, i, -1 do
    answer[k] = nil
  end
  return left_out
end

local result, at = {0, 0}, 3
while ARGV[at] and (at == 3 or used < room) do
  local n, name = tonumber(ARGV[at]), ARGV[at + 1]
  local answer = string.find(reads, ' ' .. name .. ' ', 1, true)
    and try(name, P .. ARGV[at + 2], unpack(ARGV, at + 3, at + n))
  if answer and string.find(ranges, ' ' .. name .. ' ', 1, true) then
    result[1] = shorten(answer, ARGV[at + n] == 'WITHSCORES')
  end
  result[#result + 1] = answer and cut(answer) or false
  at = at + n + 1
end
result[2] = damaged or 0
return result
