--[[
  heads: reads for people, and brings only the beginning of what is long.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] how many bytes a text may have
    ARGV[2...] for each command that reads: how many words follow; its name; its key, without the root; its other words
  Returns {0, a key of the wrong type or 0, the answer of each command}. A text that is longer is {its length, its
  beginning}. For a key of the wrong type the answer is nil. The command with which the answer has 256 KiB is the last
  one that is answered.
  Writes nothing, publishes nothing. O(what the commands read).
]]
--- @include "try"

local P, most = KEYS[1], tonumber(ARGV[1])
local room = 262144
local reads = ' HSCAN ZSCAN HGET HGETALL HMGET LRANGE ZRANGE ZREVRANGE ZRANGEBYSCORE '

local function cut(answer)
  if type(answer) == 'string' then
    room = room - math.min(#answer, most)
  end
  if type(answer) == 'string' and #answer > most then
    return {#answer, string.sub(answer, 1, most)}
  elseif type(answer) == 'table' then
    for i = 1, #answer do
      answer[i] = cut(answer[i])
    end
  end
  return answer
end

local result, at = {0, 0}, 2
while ARGV[at] and room > 0 do
  local n, name = tonumber(ARGV[at]), ARGV[at + 1]
  local answer = string.find(reads, ' ' .. name .. ' ', 1, true)
    and try(name, P .. ARGV[at + 2], unpack(ARGV, at + 3, at + n))
  result[#result + 1] = answer and cut(answer) or false
  at = at + n + 1
end
result[2] = damaged or 0
return result
