--[[
  Rounds, by which the keys of a fair queue take turns: in a round each key has one job. The round of a job that waits
  is in its record, as the text of a number like a token's. Its member in P:waiting begins with ROUND_MARK and the round
  then. That is before all members that begin with a place.
]]
--- @include "token"

local ROUND_MARK = '!'

-- The round that a record names; nil if it names none.
local function round_of(value)
  return value and #value == TOKEN_LEN and string.match(value, '^[0-9a-v]+$') and value or nil
end

-- How much of a member comes before the place.
local function round_len(member)
  return string.sub(member, 1, 1) == ROUND_MARK and 1 + TOKEN_LEN or 0
end

local function member_of(job)
  local round = job.state == 'waiting' and job.round
  return (round and ROUND_MARK .. round or '') .. job.place .. job.id
end
