--[[
  open_batch: open a batch, to which jobs can be put from then on. It may be a member of another one.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] id     ARGV[2] the batch of which it is a member, ""     ARGV[3] ms after the last member after which it is
      closed if nobody does
    ARGV[4...] fields of the record and their values, pairs: on_<which>, data_<which>
  Returns {0}; {E_EXISTS, state} if a batch of this id has not ended, or has, and a job that follows it could not be put
  yet: it would be forgotten; {E_NOT_FOUND}, {E_STATE, state} if the other one
  is not there, or is not open; {E_TOO_BIG} if it would be nested too deep; {E_REDIS, key} for a key of the wrong type,
  or a record that cannot be read: nothing was changed. An ended batch of this id makes room.
  Writes the batch's record, and those of its parent. Publishes to the keeper of the timer, and to those who listen.
  O(log n).
]]
--- @include "jobs"
--- @include "write_again"

local batches = Jobs.batches
local P, id, parent_id, ttl = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local DEPTH_MAX = 16
local old, is_none = batches.read(P, id)
if not (old or is_none) then
  return {E_REDIS, P .. 'batch:' .. id}
elseif not (batches.are_sound(P, id) and has_type('STRLEN', P .. 'token')) then
  return {E_REDIS, damaged}
elseif old and old.state ~= 'ended' then
  write_again(P .. 'batch:' .. id)
  return {E_EXISTS, old.state}
elseif old and batches.owes_any(old) then
  return {E_EXISTS, 'over, but a job that follows it is not put yet'}
end
local obstacle, parent
if parent_id ~= '' then
  obstacle, parent = batches.obstacle_to_join(P, parent_id)
end
if obstacle then
  return {obstacle[1], string.match(obstacle[2], '^batch (.*)') or obstacle[2]}
end
local depth = parent and Jobs.number(parent, 'depth') + 1 or 1
if depth > DEPTH_MAX then
  return {E_TOO_BIG}
end

local _, place = draw_tokens(P, 1)
redis.call('HSET', P .. 'batch:' .. id, 'place', place) -- needs memory: a full Redis refuses the whole call here
if old then
  redis.call('DEL', P .. 'batch:' .. id, P .. 'members:' .. id)
  redis.call('ZREM', P .. 'past', id)
end
local now = string.format('%.0f', now_ms())
redis.call('HSET', P .. 'batch:' .. id, 'place', place, 'state', 'open', 'opened', now, 'since', now, 'ttl', ARGV[3],
  'depth', depth, 'members', 0, unpack(ARGV, 4))
if parent then
  redis.call('HSET', P .. 'batch:' .. id, 'batch', batches.name(parent))
  batches.join(P, parent, {'b' .. id})
end
redis.call('ZADD', P .. 'batches', now_ms() + ttl, id)
batches.note_due(P, now_ms() + ttl)
batches.publish_event(P, {id = id}, 'batch-opened')
return {0}
