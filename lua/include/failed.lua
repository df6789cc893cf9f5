--[[
  The failed list of a queue: a zset by time. A member is "<token>:<length of worker>:<of group>:<of message>:", then
  these three and the task. It keeps the newest entries.
]]
local FAILED_MAX = 10000

local function add_failed(P, queue, now, token, worker, group, message, task)
  local key = P .. 'failed:' .. queue
  redis.call('ZADD', key, now, token .. ':' .. #worker .. ':' .. #group .. ':' .. #message .. ':' .. worker .. group
    .. message .. task)
  redis.call('ZREMRANGEBYRANK', key, 0, -FAILED_MAX - 1)
end
