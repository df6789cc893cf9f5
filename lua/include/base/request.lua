--[[
  Requests: a call that adds something once, however often it is sent. The record of a request, P:request:<id>, has for
  each of its chunks the digest of what came in it, and what was answered.
]]
--- @include "try"
--- @include "write_again"

local REQUEST_KEPT_MS = 3600000
local DIGEST_LEN = 40

-- What a chunk of this digest was answered the first time, as text; nil if it is new; false if it had other content. A
-- key of another type counts as new: `damaged` names it.
local function earlier_answer(request, chunk, digest)
  local before = try('HGET', request, chunk)
  if not before then
    return nil
  elseif string.sub(before, 1, DIGEST_LEN) ~= digest then
    return false
  end
  write_again(request)
  return string.sub(before, DIGEST_LEN + 1)
end

local function note_answer(request, chunk, digest, answer)
  redis.call('HSET', request, chunk, digest .. answer)
  redis.call('PEXPIRE', request, REQUEST_KEPT_MS)
end
