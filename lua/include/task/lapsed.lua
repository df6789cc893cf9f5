--[[
  Leases that are over but not moved yet. Such a process is nobody's: no end of it counts any more, and if it is marked,
  it is gone as soon as it is moved. So a cancel counts it as removed, and not as running.
]]
--- @include "due"
--- @include "fields"
--- @include "marks"
--- @include "try"

-- The tokens of a queue's processes, tasks' and jobs', whose leases are over: token -> true.
local function lapsed_tokens(P, queue, now)
  local tokens = {}
  local leases = try('ZRANGEBYSCORE', P .. 'leases:' .. queue, '-inf', now, 'WITHSCORES') or {}
  for i = 1, #leases, 2 do
    if not is_spared(P, tonumber(leases[i + 1]), now) then
      tokens[token_of(leases[i])] = true
    end
  end
  return tokens
end

-- Of these processes of leases: how many are over, and how many of those are not marked yet (ask before they are).
local function count_lapsed(P, lapsed, tokens)
  local over, unmarked = 0, 0
  for _, token in ipairs(tokens) do
    if lapsed[token] then
      over = over + 1
      unmarked = unmarked + (try('HEXISTS', P .. 'marks:' .. LEASE, token) == 0 and 1 or 0)
    end
  end
  return over, unmarked
end
