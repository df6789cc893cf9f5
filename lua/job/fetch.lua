--[[
  fetch: give a worker the job of one of its processes.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] token     ARGV[3] queue
    ARGV[4] how many bytes are so many that the record does not come along; 0: it always does
  Returns {0, id, its record {field, value, ...}}; {E_TOO_BIG, n} if the record has n bytes, which are so many;
  {E_NOT_FOUND} if the worker does not, or no longer, hold such a process, if its record names another one, or if the
  job cannot be read.
  Writes only in the last two cases: it removes the process, and puts a job that cannot be read onto the failed list,
  group "broken".
  Publishes to the workers that get what the free place under a limit lets out, and to those who listen. O(1).
]]
--- @include "try"

local P, worker, token, queue, held_back = KEYS[1], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local set = P .. 'processing:' .. worker .. ':' .. queue
local id = try('HGET', set, 'j' .. token)
if not id then
  return {E_NOT_FOUND}
end

-- The usual case: the record has all that the job of this process must have. Then no function needs to be made.
local flat = try('HGETALL', P .. 'job:' .. id)
local record = {}
for i = 1, flat and #flat or 0, 2 do
  record[flat[i]] = flat[i + 1]
end
if record.state == 'running' and record.token == token and record.queue and #(record.place or '') == #token then
  if held_back > 0 then
    --- @inline "record_bytes"
    if n_bytes >= held_back then
      return {E_TOO_BIG, n_bytes}
    end
  end
  return {0, id, flat}
end

--- @include "available"
if can_fail(P, queue) and Jobs.are_sound(P, queue) and can_mark(P, worker) and try('HLEN', P .. 'notes:' .. worker) then
  redis.call('HDEL', set, 'j' .. token)
  Jobs.read_or_fail(P, queue, id, token, worker)
  unmark(P, worker, token)
  try('HINCRBY', P .. 'worker:' .. worker, 'held', -1)
  try('HINCRBY', P .. 'queue:' .. queue, 'running', -1)
  hand_over_waiting(P, queue)
  hand_over_jobs(P)
end
return {E_NOT_FOUND}
