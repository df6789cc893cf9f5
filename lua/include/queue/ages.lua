--[[
  Ages: since when the tasks wait. A task is bytes without a time, so nobody can look up its age. But `out` counts how
  many tasks have ever left a queue's list; with the list's length that makes how many have ever come. The field `ages`
  has points of this curve, "<time>:<how many had come by then>", the oldest first. As long as fewer have left than had
  come by a point's time, one of those that had come by then is still here, in whatever order they leave. And when so
  many have left in their turn, all that came before the point are gone. `unordered` counts those that are not in turn:
  that were cancelled, or were put at the front.

  A point that nobody writes costs only exactness. A task that leaves the list and is not counted would make the others
  seem too old. So whatever takes one out of a list counts it; and if more have come by a point than can be, all points
  go.
]]
--- @include "try"
--- @include "whole"

local POINTS_MAX = 12

-- The points that still say something: of those by which all have left, only the last one. `out`: how many have left in
-- their turn.
local function points_of(text, out, came)
  local points = {}
  for at, n in string.gmatch(text, '(%d+):(%d+)') do
    at, n = whole(at), whole(n)
    if not at or not n or n > came then
      return {}
    end
    if n <= out then
      points = {}
    end
    points[#points + 1] = {at, n}
  end
  return points
end

-- Leaves out the point that tells least: whose neighbours are nearest to each other, by how long ago that is.
local function thin_out(points, now)
  local least, which = math.huge, nil
  for i = 2, #points - 2 do
    local gap = (points[i + 1][1] - points[i - 1][1]) / (now - points[i + 1][1] + 1)
    if gap < least then
      least, which = gap, i
    end
  end
  table.remove(points, which)
end

local function text_of(points)
  local texts = {}
  for i, point in ipairs(points) do
    texts[i] = string.format('%.0f:%.0f', point[1], point[2])
  end
  return table.concat(texts, ' ')
end

-- Notes how many have come to a queue by now. `before` is when the caller looked at all queues last, 0: it did not:
-- until then nothing more had come than its newest point says; and if it had a name by then, and no point, nothing was
-- there. A queue without tasks gets no first point.
local function note_ages(P, queue, now, before, named_at)
  local key = P .. 'queue:' .. queue
  local fields = try('HMGET', key, 'out', 'ages', 'unordered')
  local waiting = fields and try('LLEN', P .. 'queues:' .. queue)
  if waiting == 0 and fields[3] then -- all have left, in whatever order
    try('HDEL', key, 'unordered')
    fields[3] = false
  end
  if not waiting or (waiting == 0 and not fields[2]) then
    return
  end
  local out = whole(fields[1]) or 0
  local in_turn = math.max(0, out - (whole(fields[3]) or 0))
  local points = points_of(fields[2] or '', in_turn, out + waiting)
  local newest = points[#points]
  if newest and newest[2] == out + waiting then
    return
  end
  if newest and newest[1] < before then
    points[#points + 1] = {before, newest[2]}
  elseif not fields[2] and before > 0 and named_at <= before then
    points[1] = {before, in_turn}
  end
  points[#points + 1] = {now, out + waiting}
  while #points > POINTS_MAX do
    thin_out(points, now)
  end
  try('HSET', key, 'ages', text_of(points))
end
