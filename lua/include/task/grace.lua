--[[
  Grace of leases: the time in which Redis stood still or was away does not count for a lease that ends in it, for its
  holder could not extend it. That nobody called is no evidence of this: there must be workers, who say each third of
  their ttl that they live, and were silent. So it needs a worker that was registered before the silence and speaks
  after it. For the shortest ttl after it, in which such a worker must speak, one that was registered is enough.
]]
--- @include "silence"
--- @include "token"
--- @include "try"

-- At most this many workers are asked, those first that spoke last.
local WITNESSES_MAX = 100

-- Was a worker registered when the silence began; and has such a one spoken since it ended?
local function ask_witnesses(P, began, ended)
  local was_there = false
  local workers = try('ZREVRANGE', P .. 'registry', 0, WITNESSES_MAX - 1, 'WITHSCORES') or {}
  for i = 1, #workers, 2 do
    local record = try('HMGET', P .. 'worker:' .. workers[i], 'epoch', 'ttl') or {}
    if #(record[1] or '') == TOKEN_LEN and token_number(record[1]) / 1000 < began + 1 then
      was_there = true
      local life_ends = tonumber(workers[i + 1])
      local has_spoken = life_ends - (tonumber(record[2] or nil) or math.huge) >= ended
      if has_spoken and (life_ends < math.huge or redis.call('EXISTS', P .. 'alive:' .. workers[i]) == 1) then
        return true, true
      end
    end
  end
  return was_there, false
end

-- The silence that counts for leases: {from, to, latest, length, is_new}. Leases that end between these two times have
-- not lapsed yet: each does so `length` after its end, at `latest` all of them. `is_new`: the field `seen` of P:beat
-- does not say yet when this silence was met. Nil: there is none.
local function silence_of_leases(P, now)
  local shortest, beat = shortest_ttl(P), try('HMGET', P .. 'beat', 'at', 'ended', 'length', 'seen') or {}
  local at, ended = tonumber(beat[1] or nil), tonumber(beat[2] or nil)
  local length, seen = tonumber(beat[3] or nil), tonumber(beat[4] or nil)
  if not shortest or not at or at > now then
    return nil
  end
  local lasts = now - at > shortest / 2 -- nobody has spoken yet
  local is_new = lasts and not (seen and seen > at and seen <= now)
  if lasts then
    ended, length = now, now - at
  elseif not (ended and length and ended <= now and now < ended + length) then
    return nil
  end
  local began = ended - length + shortest / BEAT_AGE_PART -- by so much `at` may be older than the last word
  local was_there, has_spoken = ask_witnesses(P, began, ended)
  local latest = not lasts and has_spoken and math.huge or (lasts and not is_new and seen or ended) + shortest
  if was_there and now < latest then
    return {from = now - length, to = ended, latest = latest, length = length, is_new = is_new}
  end
end
