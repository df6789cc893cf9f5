--[[
  Announcements: what those who listen to a queue hear, on channels of its own. Published only where the queue is heard;
  so they cost nothing otherwise.
]]
--- @include "heard"
--- @include "try"

local LISTEN_MS = 10000
-- What muster says on a queue's channel of work; its workers ignore it, for they are handed their work.
local WORK = 'muster'

-- A denied PUBLISH is like a message that reached nobody.
local function announce(P, queue, what, message)
  redis.pcall('PUBLISH', string.sub(P, 1, -2) .. '_' .. queue .. '_' .. what, message)
end

-- Somebody listens to the queue from now on, for a while. The name is noted so that somebody tidies up after him. Nil
-- if the queue's settings are damaged.
local function keep_listening(P, queue, now)
  local done = try('HSET', P .. 'queue:' .. queue, 'listen', now + LISTEN_MS)
  if done then
    try('ZADD', P .. 'names', 'NX', now, queue)
  end
  return done
end
