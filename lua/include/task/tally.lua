--[[
  The tally of a call's ends: how many there were, which of them failed, and how many processes each queue lost. Ends
  that counted are not listed, because mostly all of them count.
]]
--- @include "chunk"
--- @include "try"

-- {n = number of ends, failed = {{first, last, status}, ...}, ended = {queue -> number of processes that it lost}}.
local function new_tally()
  return {n = 0, failed = {}, ended = {}}
end

-- Notes the status of the next n ends, which are of one queue; `counted` of them ended a process.
local function note_ends(tally, queue, n, counted, status)
  if status ~= 0 then
    tally.failed[#tally.failed + 1] = {tally.n + 1, tally.n + n, status}
  end
  tally.n = tally.n + n
  tally.ended[queue] = (tally.ended[queue] or 0) + counted
end

-- 0 if all counted, otherwise a list with a status for each end, in order.
local function statuses_of(tally)
  if #tally.failed == 0 then
    return 0
  end
  local statuses = {}
  for i = 1, tally.n do
    statuses[i] = 0
  end
  for _, run in ipairs(tally.failed) do
    for i = run[1], run[2] do
      statuses[i] = run[3]
    end
  end
  return statuses
end

-- Finishes the processes args[first...], n tokens of one set, with as few commands as possible. If some ends of one
-- command did not count, nobody can tell which: then none of that command is confirmed. `done`: the answer, if one
-- command is enough and has been carried out.
local function finish_together(tally, set, queue, args, first, n, done)
  for from = first, first + n - 1, CHUNK do
    local to = math.min(from + CHUNK, first + n) - 1
    local n_ends = to - from + 1
    local counted = done or try('HDEL', set, unpack(args, from, to))
    note_ends(tally, queue, n_ends, counted or 0, counted == n_ends and 0 or counted and E_LOST or E_REDIS)
  end
end
