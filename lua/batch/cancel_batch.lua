--[[
  cancel_batch: cancel a batch: no member comes any more, and those that have not ended are cancelled, in steps of 100,
  as by `cancel_jobs`. Nested batches begin to be cancelled, too.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] id     ARGV[2] "1": only go on with what an earlier call has begun
  Returns {0, how many jobs are gone and were in nobody's hands, how many of those that were, how many members are left
  for the next call, the ids of nested batches to go on with}; {E_NOT_FOUND} if there is no such batch; {E_STATE} if it
  has ended, and not because it was cancelled; {E_REDIS, key} for a key of the wrong type, or a record that cannot be
  read: this call changed nothing.
  If nobody goes on for a second, whatever moves what is due does.
  Writes marks and flags of the holders; deletes the jobs' records, and their members of indexes.
  Publishes to the holders, to the workers that get followers, and to those who listen. O(100 log n).
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
elseif batch.state == 'ended' and not batch.cancel then
  return {E_STATE}
end

local goes_on = ARGV[2] == '1'
local found
if batch.state ~= 'ended' and (batch.from or not goes_on) then
  batch.from = goes_on and batch.from or nil
  found = batches.next_to_cancel(P, batch)
  if not found then
    return {E_REDIS, damaged}
  end
end
if not found then
  return {0, 0, 0, 0, {}}
end

try('HDEL', P .. 'config', '-') -- needs no memory, so that a full Redis allows the others
if not goes_on then
  batches.begin_cancelling(P, batch)
end
local removed, running, nested = batches.cancel_some(P, batch, found)
hand_over_jobs(P)
local left = batch.from and redis.call('ZCOUNT', P .. 'members:' .. id, batch.from, '+inf') or 0
return {0, removed, running, left, nested}
