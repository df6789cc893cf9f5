--[[
  Own ends: a command ends its own process, by the process' id, and then exits by itself. Its worker must know that
  before it sees that the process is its own no longer, for it would stop the command. The message that tells it may be
  lost. So the worker's record has a field "e:<token>" with the letter of the end, until a read-back has told it: then
  with the number of the connection whose answer did.
]]
local OWN_LETTERS = {back = 'b', retry = 'r', fail = 'x'}

-- Returns what the message to the worker says.
local function note_own_end(P, worker, token, kind)
  local letter = OWN_LETTERS[kind] or 'f'
  redis.call('HSET', P .. 'worker:' .. worker, 'e:' .. token, letter)
  return token .. letter
end

-- For a read-back on the connection `conn`: adds token and letter to `told`. What this connection was told before has
-- arrived, because a worker asks again only when it has the answer.
local function tell_own_end(P, worker, token, conn, told)
  local key, field = P .. 'worker:' .. worker, 'e:' .. token
  local letter = redis.call('HGET', key, field)
  if string.sub(letter, 2) == conn then
    redis.call('HDEL', key, field)
    return
  end
  told[#told + 1] = token
  told[#told + 1] = string.sub(letter, 1, 1)
  redis.call('HSET', key, field, string.sub(letter, 1, 1) .. conn)
end
