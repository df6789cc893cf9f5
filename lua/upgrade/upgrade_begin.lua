--[[
  upgrade_begin: from now on the namespace is moved to another layout. Until that is done no client and no worker
  connects to it.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] the layout to be reached     ARGV[2] what P:format says while keys are moved
    ARGV[3] how many layouts have the same keys, n
    ARGV[4...] these n layouts; then what P:format may say if keys are to be moved
  Returns {0, "move"} if keys are to be moved, also if this was said before; {0, "done"} if it was one of the n layouts,
  and is the new one now; {0, "none"} if the namespace has the layout to be reached, or none: there is nothing to do.
  {E_STATE, number, worker...} if so many workers are alive, the first ten of which are named; {E_FORMAT, layout} for
  any other layout; {E_REDIS, key} if P:format or P:token has a wrong type: nothing was changed.
  Writes P:format, P:token, and the epochs of the records: the workers are dead, and if one comes back after all, its
  life is over. What they hold stays as it is, for a sweep or a new start; only what was to move between them no longer
  does: P:moves goes, and what records and queues say of it. Publishes nothing. O(registered workers, their queues).
]]
--- @include "token"
--- @include "try"

local NAMED_MAX = 10
local P, new, meanwhile, args = KEYS[1], ARGV[1], ARGV[2], ARGV
local first_to_move = 4 + tonumber(ARGV[3])

local function is_named(format, from, to)
  for i = from, to do
    if format == args[i] then
      return true
    end
  end
  return false
end

if redis.call('TYPE', P .. 'format').ok ~= 'string' and redis.call('EXISTS', P .. 'format') == 1 then
  return {E_REDIS, P .. 'format'}
end
local format = redis.call('GET', P .. 'format')
if not format or format == new then
  return {0, 'none'}
elseif format == meanwhile then
  return {0, 'move'}
elseif not is_named(format, 4, #ARGV) then
  return {E_FORMAT, format}
end
local workers, answer, n_alive = redis.call('ZRANGE', P .. 'registry', 0, -1), {E_STATE, 0}, 0
for _, worker in ipairs(workers) do
  if redis.call('EXISTS', P .. 'alive:' .. worker) == 1 then
    n_alive = n_alive + 1
    answer[n_alive <= NAMED_MAX and n_alive + 2 or 2] = worker
  end
end
answer[2] = n_alive
if n_alive > 0 then
  return answer
end
if not try('STRLEN', P .. 'token') then
  return {E_REDIS, P .. 'token'}
end
local is_alike = is_named(format, 4, first_to_move - 1)
redis.call('SET', P .. 'format', is_alike and new or meanwhile)

-- All lives are over, so no process is to move any more from one to another.
local function end_moves(record, fields)
  for _, field in ipairs(fields) do
    local queue = string.match(field, '^[io]:(.*)$')
    if queue then
      redis.call('HDEL', record, field)
    end
    if queue and try('ZCARD', P .. 'moves:' .. queue) then
      redis.call('UNLINK', P .. 'moves:' .. queue)
      try('HDEL', P .. 'queue:' .. queue, 'moves')
    end
  end
end

for _, worker in ipairs(workers) do
  local record = P .. 'worker:' .. worker
  local fields = try('HKEYS', record)
  if fields and redis.call('HEXISTS', record, 'epoch') == 1 then
    end_moves(record, fields)
    redis.call('HSET', record, 'epoch', select(2, draw_tokens(P, 1)))
  end
end
return {0, is_alike and 'done' or 'move'}
