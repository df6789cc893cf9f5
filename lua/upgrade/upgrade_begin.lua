--[[
  upgrade_begin: from now on the namespace is moved to another layout. Until that is done no client and no worker
  connects to it.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] the layout to be reached     ARGV[2] the layout before, whose keys are the same
    ARGV[3] what P:format says while keys are moved     ARGV[4...] what it may say if they are to be moved
  Returns {0, "move"} if keys are to be moved, also if this was said before; {0, "done"} if it was the layout before,
  and is the new one now; {0, "none"} if the namespace has the layout to be reached, or none: there is nothing to do.
  {E_STATE, number, worker...} if so many workers are alive, the first ten of which are named; {E_FORMAT, layout} for
  any other layout; {E_REDIS, key} if P:format has a wrong type: nothing was changed.
  Writes P:format, P:token, and the epochs of the records: the workers are dead, and if one comes back after all, its
  life is over. What they hold stays as it is, for a sweep or a new start. Publishes nothing. O(registered workers).
]]
--- @include "token"
--- @include "try"

local NAMED_MAX = 10
local P, new, before, meanwhile = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

local function is_to_move(format)
  for i = 4, #ARGV do
    if format == ARGV[i] then
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
elseif format ~= before and not is_to_move(format) then
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
redis.call('SET', P .. 'format', format == before and new or meanwhile)
for _, worker in ipairs(workers) do
  if try('HEXISTS', P .. 'worker:' .. worker, 'epoch') == 1 then
    redis.call('HSET', P .. 'worker:' .. worker, 'epoch', select(2, draw_tokens(P, 1)))
  end
end
return {0, format == before and 'done' or 'move'}
