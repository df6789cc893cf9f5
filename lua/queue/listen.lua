--[[
  listen: somebody listens to a queue, or to the events of all jobs, for the next ten seconds.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue, "": the events of all jobs
  Returns 0; {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Writes the field `listen`, and notes the queue's name. Publishes nothing. O(log n).
]]
--- @include "announce"
--- @include "clock"

local P, queue = KEYS[1], ARGV[1]
local done
if queue == '' then
  done = try('HSET', P .. 'config', 'listen', now_ms() + LISTEN_MS)
else
  done = keep_listening(P, queue, now_ms())
end
return done and 0 or {E_REDIS, damaged}
