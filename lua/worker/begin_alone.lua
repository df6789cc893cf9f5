--[[
  begin_alone: a worker is about to start a suspect, and nothing else runs; or the suspect has run long enough, and is a
  suspect no more; or others are to begin, because it does not begin after all, or is not ended here. From the first
  call on, a death of the worker counts against this process only; from the last one on, as if it had not begun.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number     ARGV[4] queue     ARGV[5] token
    ARGV[6] "0": it begins; "1": it is a suspect no more; "2": it has not begun
    ARGV[7...] when it begins, the queues whose processes still run beside it
  Returns 0, also if it has been said before; E_STATE: one of these queues counts deaths, so its processes must end
  first; E_LOST: the process is not the worker's; E_GONE; E_STATE also for a late call of an older connection;
  {E_REDIS, key} for a key of the wrong type. Unless it is 0, nothing was changed.
  Writes P:suspects, and a job's record. Publishes nothing. O(queues named).
]]
--- @include "owner"
--- @include "suspects"
--- @include "jobs"

local P, worker, queue, token = KEYS[1], ARGV[1], ARGV[4], ARGV[5]
local status = check_owner(P, worker, ARGV[2], ARGV[3])
if status ~= 0 then
  return status
end
local held = try('HMGET', P .. 'processing:' .. worker .. ':' .. queue, token, 'j' .. token)
if not held or not has_type('HLEN', P .. 'suspects:' .. queue) then
  return {E_REDIS, damaged}
end
if not held[1] and not held[2] then
  return E_LOST
end
redis.call('HDEL', P .. 'worker:' .. worker, '-') -- needs no memory, so that a full Redis allows the others
if ARGV[6] == '1' then
  acquit(P, queue, token)
  local job = held[2] and Jobs.read_held(P, held[2], token)
  if job then
    Jobs.acquit(job)
    Jobs.save(P, job)
  end
  return 0
end
if ARGV[6] == '2' then
  local entry = redis.call('HGET', P .. 'suspects:' .. queue, token)
  if entry then
    pardon(P, queue, held[2] and 'j' .. token or token, entry)
  end
  return 0
end
for i = 7, #ARGV do
  if max_crashes(P, ARGV[i]) > 0 then
    return E_STATE
  end
end
begin_suspect(P, queue, token)
return 0
