--[[
  Circles: a job must not wait for itself, directly or by way of others, nor for a job that never ends.
]]
--- @include "jobs"
--- @include "try"

-- At most this many dependencies are followed; beyond that, the job is refused.
local CIRCLE_MAX = 10000

-- The first job of `after` that the job cannot wait for, or nil.
local function find_circle(P, id, after)
  local seen, todo = {}, {}
  for _, on in ipairs(after) do
    local _, state = Jobs.is_open(P, on)
    if on == id or state == 'recurring' then
      return on
    end
    todo[#todo + 1] = {on, on}
  end
  local looked_at = 0
  while #todo > 0 do
    local one, through = unpack(table.remove(todo))
    for _, on in ipairs(not seen[one] and try('SMEMBERS', P .. 'dependencies:' .. one) or {}) do
      looked_at = looked_at + 1
      if on == id or looked_at > CIRCLE_MAX then
        return through
      end
      todo[#todo + 1] = {on, through}
    end
    seen[one] = true
  end
end
