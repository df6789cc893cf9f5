--[[
  tidy: remove the names and settings of queues that have nothing left, and what is beyond the bounds of failed lists
  and of complete jobs. Close the batches that nobody has closed in time.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] the place among the queues' names to begin at
  Returns {0, the place to go on from, -1 at the end of the names; how much it removed}. A call looks at 100 queues, and
  removes at most 300 jobs, 200 failures or 4 MiB of them; what is left is for the next call, which the place names.
  Queues with a damaged key are passed over. From place 0 it looks at batches, too: it closes at most 50, and removes at
  most 100 that have ended.
  Writes P:names, P:due, records of batches and their followers; deletes settings, failures, and records of jobs and
  batches. Publishes to the workers that get followers, and to those who listen.
  O(queues looked at, and what is removed).
]]
--- @include "tidy"
--- @include "available"
--- @include "clock"
--- @include "try"

local P = KEYS[1]
try('HDEL', P .. 'config', '-') -- needs no memory, so that a full Redis allows the others
local batches = ARGV[1] == '0' and tidy_batches(P, now_ms()) or 0
local place, removed = tidy_from(P, tonumber(ARGV[1]), now_ms())
hand_over_jobs(P)
return {0, place, removed + batches}
