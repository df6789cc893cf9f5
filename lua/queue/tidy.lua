--[[
  tidy: remove the names and settings of queues that have nothing left, and what is beyond the bounds of failed lists
  and of complete jobs.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] the place among the queues' names to begin at
  Returns {0, the place to go on from, -1 at the end of the names; how much it removed}. A call looks at 100 queues, and
  removes at most 300 jobs, 200 failures or 4 MiB of them; what is left is for the next call, which the place names.
  Queues with a damaged key are passed over.
  Writes P:names, P:due; deletes settings, failures, and records of jobs.
  Publishes to those who listen. O(queues looked at, and what is removed).
]]
--- @include "tidy"
--- @include "clock"
--- @include "try"

local P = KEYS[1]
try('HDEL', P .. 'config', '-') -- needs no memory, so that a full Redis allows the others
return {0, tidy_from(P, tonumber(ARGV[1]), now_ms())}
