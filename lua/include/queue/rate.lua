--[[
  A queue's rate: at most `rate` of its tasks and jobs are taken in `rate_ms`, over all workers and leases, and at most
  `rate_burst` at once (0: as many as `rate`). The field `tat` is the time, in microseconds, up to which what was taken
  has used the rate up: each take moves it on by a `rate`-th of the time, and it may be ahead of the clock by a burst.
  So in any time no more is taken than the rate allows in it, and one burst. It uses nothing but `try`, so that a script
  may include it in the midst.
]]
--- @include "try"

-- Where it refills faster, idle workers are told of several at once, microseconds.
local Rate = {refill_step = 50000, rounded = 1000}

function Rate.number(text)
  return text and #text <= 15 and tonumber(string.match(text, '^%d+$')) or nil
end

-- `room`: how many may be taken now; `next_ms`: when more may be, if it is 0. Nil if there is no rate. `count` is the
-- setting's text; `now`: microseconds, by the clock that tokens are drawn by.
function Rate.of(P, queue, count, now)
  count = Rate.number(count)
  if not count or count == 0 then
    return nil
  end
  local settings = try('HMGET', P .. 'queue:' .. queue, 'rate_ms', 'rate_burst', 'tat') or {}
  local burst = Rate.number(settings[2]) or 0
  local each = math.max(1, Rate.number(settings[1]) or SETTING_RATE_MS) * 1000 / count
  local most = each * (burst > 0 and burst or count)
  local tat = math.max(tonumber(string.match(settings[3] or '', '^%d+$')) or 0, now)
  if tat > now + most + Rate.rounded then
    tat = now -- it is of a slower rate, or damaged: the rate begins anew
  end
  local rate = {each = each, tat = tat, room = math.floor((now + most - tat) / each + 1e-9)}
  rate.next_ms = math.ceil(math.max(tat + each - most, now + math.min(Rate.refill_step, most / 2)) / 1000)
  return rate
end

-- n of the queue are taken. What is given back is not given back to the rate.
function Rate.use(P, queue, rate, n)
  if n > 0 then
    rate.tat, rate.room = rate.tat + n * rate.each, rate.room - n
    redis.call('HSET', P .. 'queue:' .. queue, 'tat', string.format('%.0f', math.ceil(rate.tat)))
  end
end
