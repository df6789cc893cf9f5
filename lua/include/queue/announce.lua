--[[
  Announcements: messages on a queue's own channels, for those who listen to it. They are published only while the queue
  is heard, so they cost nothing otherwise.
]]
--- @include "heard"
--- @include "try"

local LISTEN_MS = 10000
-- The message that muster itself publishes on a queue's channel of work. Its workers ignore it: they are handed their
-- work.
local WORK = 'muster'

-- A PUBLISH that is denied counts as a message that reached nobody.
local function announce(queue, what, message)
  redis.pcall('PUBLISH', C .. '_' .. queue .. '_' .. what, message)
end

-- Notes that somebody listens to the queue from now on, for a while; and the queue's name, so that tidying finds the
-- field. Nil if the queue's settings are damaged.
local function keep_listening(P, queue, now)
  local done = try('HSET', P .. 'queue:' .. queue, 'listen', now + LISTEN_MS)
  if done then
    try('ZADD', P .. 'names', 'NX', now, queue)
  end
  return done
end
