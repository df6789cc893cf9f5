--[[
  listen: somebody listens to what happens in a queue, for the next ten seconds.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue
  Returns 0, or {E_REDIS, key} for a key of the wrong type: nothing was changed. Publishes nothing. O(1).
]]
--- @include "announce"
--- @include "clock"

return keep_listening(KEYS[1], ARGV[1], now_ms()) and 0 or {E_REDIS, damaged}
