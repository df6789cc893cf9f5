--[[
  Circles: a job must not wait for itself, directly or by way of others, nor for a job that never ends.
]]
--- @include "jobs"
--- @include "try"

-- A walk reads at most this much: a job counts as JOB_COST, each pair of jobs as 1. That is 10 000 jobs, or 50 000
-- pairs, and takes Redis less than 20 ms.
local WALK_MAX, JOB_COST = 50000, 5

-- Walks from the jobs `from`, by the pairs that read(id, n) lists, at most n of one job. Returns the first job of
-- `wanted` (id -> true) that it meets, and the one of `from` that led there; false if it meets none; nil if there is
-- more than it may read.
local function walk(from, wanted, read)
  local todo, led_by, left = {}, {}, WALK_MAX
  for i = #from, 1, -1 do
    todo[#todo + 1] = from[i]
    led_by[from[i]] = from[i]
  end
  while #todo > 0 do
    local one = table.remove(todo)
    local others = read(one, left)
    left = left - JOB_COST - #others
    if left < 0 then
      return nil
    end
    for _, other in ipairs(others) do
      if wanted[other] then
        return other, led_by[one]
      elseif not led_by[other] then
        led_by[other] = led_by[one]
        todo[#todo + 1] = other
      end
    end
  end
  return false
end

-- Why the job cannot wait for those of `after`: nil if it can; otherwise {E_INVALID, id} of the first one that waits
-- for it, is itself, or never ends; {E_TOO_BIG, its own id} if too many jobs are tied together to see. A job that none
-- waits for, so each new one, is never walked from. Of the others one side is mostly small: the jobs that wait for this
-- one, or those that the named ones wait for.
local function obstacle_to_wait(P, id, after)
  local wanted = {}
  for _, on in ipairs(after) do
    local _, state = Jobs.is_open(P, on)
    if on == id or state == 'recurring' then
      return {E_INVALID, on}
    end
    wanted[on] = true
  end
  if #after == 0 or redis.call('EXISTS', P .. 'dependents:' .. id) == 0 then
    return nil
  end
  local met = walk({id}, wanted, function(one, n)
    return try('ZRANGE', P .. 'dependents:' .. one, 0, n) or {}
  end)
  if met == nil then
    local found, through = walk(after, {[id] = true}, function(one)
      return try('SMEMBERS', P .. 'dependencies:' .. one) or {}
    end)
    met = found and through or found
  end
  if met == nil then
    return {E_TOO_BIG, id}
  end
  return met and {E_INVALID, met} or nil
end
