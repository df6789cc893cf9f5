--[[
  note_ages: note how many tasks have come to each queue by now, so that somebody can say how long they wait.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] the place among the queues' names to begin at
    ARGV[2] when the caller began to go through all names the last time, ms by the server's clock; 0: it did not
  Returns {0, the place to go on from, -1 at the end of the names; the time}. A call looks at 200 queues. Queues with a
  damaged key are passed over. Nothing is written for a queue to which nothing has come since the last time.
  Writes the queues' fields `ages` and `unordered`.
  Publishes nothing. O(queues looked at).
]]
--- @include "ages"
--- @include "clock"
--- @include "try"

local QUEUES_MAX = 200
local P, place, before = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
try('HDEL', P .. 'config', '-') -- needs no memory, so that a full Redis allows the others
local names = try('ZRANGE', P .. 'names', place, place + QUEUES_MAX - 1, 'WITHSCORES') or {}
for i = 1, #names, 2 do
  note_ages(P, names[i], now_ms(), before, tonumber(names[i + 1]))
end
return {0, #names < 2 * QUEUES_MAX and -1 or place + QUEUES_MAX, string.format('%.0f', now_ms())}
