--[[
  readback: tell a worker which processes are its own. A worker calls it after each new data connection, after each
  confirmed subscription, and in doubt. The connection's number is stored: from then on late requests of older
  connections are refused.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number
  Returns {E_GONE}, or {E_STATE, the number that is known}: nothing was changed. Or {0, last token N, marks {token,
  kind, ...}, ends {token, letter, ...} that commands have made of their own processes (include `own_ends`)}, and for
  each queue with processes two more elements: its name, and the list of its tokens, a job's with a "j" before it, and
  that of a task that is a suspect with an "s". The worker fetches the tasks and jobs that it does not know.
  Writes the connection number, which own ends it told, and the flag and the count `held` where they must change.
  Publishes nothing.
  O(processes held).
]]
--- @include "last_token"
--- @include "marks"
--- @include "own_ends"
--- @include "token"

local P, worker, conn = KEYS[1], ARGV[1], ARGV[3]
local key = P .. 'worker:' .. worker
local record = redis.call('HMGET', key, 'epoch', 'conn', 'held', 'flag')
if record[1] ~= ARGV[2] then
  return {E_GONE}
end
if tonumber(conn) < tonumber(record[2]) then
  return {E_STATE, record[2]}
end
redis.call('HDEL', key, '-') -- a write that needs no memory, so that a full Redis allows the others
if conn ~= record[2] then
  redis.call('HSET', key, 'conn', conn)
end
local marks = record[4] and try('HGETALL', P .. 'marks:' .. worker) or {}
if record[4] == FLAG_ENDED or (record[4] and #marks == 0) then
  redis.call('HDEL', key, 'flag') -- this answer tells the worker which processes somebody else has ended
  if has_marks(P, worker) then
    set_flag(P, worker, FLAG_MARKS)
  end
end

-- Says of each task of a set whether it is a suspect. A job's record says it of the job.
local function flag_suspects(queue, fields)
  local key = P .. 'suspects:' .. queue
  if (try('HLEN', key) or 0) == 0 then
    return
  end
  for i, field in ipairs(fields) do
    if #field == TOKEN_LEN and redis.call('HEXISTS', key, field) == 1 then
      fields[i] = 's' .. field
    end
  end
end

local told = {}
local result, held = {0, last_token(P), marks, told}, 0
for _, field in ipairs(redis.call('HKEYS', key)) do
  if string.sub(field, 1, 2) == 'e:' then
    tell_own_end(P, worker, string.sub(field, 3), conn, told)
  elseif string.sub(field, 1, 2) == 'q:' then
    local queue = string.sub(field, 3)
    local tokens = redis.pcall('HKEYS', P .. 'processing:' .. worker .. ':' .. queue)
    if not tokens.err and #tokens > 0 then
      result[#result + 1] = queue
      flag_suspects(queue, tokens)
      result[#result + 1] = tokens
      held = held + #tokens
    end
  end
end
if held ~= tonumber(record[3]) then
  redis.call('HSET', key, 'held', held) -- after damage: otherwise the worker would lack hands for its epoch
end
return result
