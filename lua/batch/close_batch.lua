--[[
  close_batch: close a batch: no member comes any more. It ends when all of its members have, so an empty one at once.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] id
  Returns {0, 1 if it was open}; {E_NOT_FOUND} if there is no such batch; {E_REDIS, key} for a key of the wrong type, or
  a record that cannot be read: nothing was changed.
  Writes the batch's record; if it ends, those of the batches around it, and its followers.
  Publishes to the workers that get followers, and to those who listen. O(log n).
]]
--- @include "jobs"
--- @include "available"

local batches = Jobs.batches
local P, id = KEYS[1], ARGV[1]
local batch, is_none = batches.read(P, id)
if not batch then
  return {is_none and E_NOT_FOUND or E_REDIS, P .. 'batch:' .. id}
elseif not batches.are_sound(P, id) then
  return {E_REDIS, damaged}
elseif batch.state == 'open' then
  batches.close(P, batch, '')
  hand_over_jobs(P)
  return {0, 1}
end
return {0, 0}
