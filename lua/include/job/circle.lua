--[[
  Circles: a job must not wait for itself, directly or by way of others, nor for a job that never ends.
]]
--- @include "jobs"
--- @include "try"

-- All walks of a script in one direction read at most this much: a job counts as JOB_COST, each pair of jobs as 1. That
-- is 10 000 jobs, or 50 000 pairs, and takes Redis less than 20 ms.
local WALK_MAX, JOB_COST = 50000, 5
local left_down, left_up = WALK_MAX, WALK_MAX

-- Walks from the jobs `from`, by the pairs that read(id, n) lists, at most n of one job; `left`: how much it may read.
-- Returns how much is left of that, less than 0 if there is more; then the first job of `wanted` (id -> true) that it
-- meets, and the one of `from` that led there; nil if it meets none.
local function walk(from, wanted, left, read)
  local todo, led_by = {}, {}
  for i = #from, 1, -1 do
    todo[#todo + 1] = from[i]
    led_by[from[i]] = from[i]
  end
  while #todo > 0 do
    local one = table.remove(todo)
    local others = read(one, left)
    left = left - JOB_COST - #others
    if left < 0 then
      return left
    end
    for _, other in ipairs(others) do
      if wanted[other] then
        return left, other, led_by[one]
      elseif not led_by[other] then
        led_by[other] = led_by[one]
        todo[#todo + 1] = other
      end
    end
  end
  return left
end

-- The jobs that wait for this one; `call` (of job_put, may be nil) tells which of them will wait for others instead.
local function list_dependents(P, call, id, n)
  local all = try('ZRANGE', P .. 'dependents:' .. id, 0, n) or {}
  if not call then
    return all
  end
  local line = {unpack(call.waiting_for[id] or {})}
  for _, other in ipairs(all) do
    local spec = call.of_id[other]
    line[#line + 1] = not (spec and spec.is_sound and #spec.after > 0) and other or nil
  end
  return line
end

-- The jobs that this one waits for, in the same way.
local function list_dependencies(P, call, id)
  local spec = call and call.of_id[id]
  return spec and spec.is_sound and #spec.after > 0 and spec.after or try('SMEMBERS', P .. 'dependencies:' .. id) or {}
end

-- Does the job recur, or will it after the call? And is there such a job, or will there be?
local function is_recurring(P, call, id)
  local spec = call and call.of_id[id]
  if spec and spec.is_sound then
    return spec.given.every or spec.given.cron or (spec.is_change and (spec.old.every or spec.old.cron)), true
  end
  local _, state = Jobs.is_open(P, id)
  return state == 'recurring', state and true
end

-- Why the job cannot wait for those of `after`: nil if it can; otherwise {E_INVALID, id} of the first one that waits
-- for it, is itself, or never ends; {E_NOT_FOUND, 'after', id} of one that is not there, if `must_exist`; {E_TOO_BIG,
-- its own id} if too many jobs are tied together to see. A job that none
-- waits for, so each new one, is never walked from. Of the others one side is mostly small: the jobs that wait for this
-- one, or those that the named ones wait for. `call`: that of job_put, if other jobs are put in the same script.
local function obstacle_to_wait(P, id, after, call, must_exist)
  local wanted = {}
  for _, on in ipairs(after) do
    local recurs, exists = is_recurring(P, call, on)
    if on == id or recurs then
      return {E_INVALID, on}
    elseif must_exist and not exists then
      return {E_NOT_FOUND, 'after', on}
    end
    wanted[on] = true
  end
  if #after == 0 or (redis.call('EXISTS', P .. 'dependents:' .. id) == 0 and not (call and call.waiting_for[id])) then
    return nil
  end
  local met
  left_down, met = walk({id}, wanted, left_down, function(one, n)
    return list_dependents(P, call, one, n)
  end)
  if left_down < 0 then
    local found, through
    left_up, found, through = walk(after, {[id] = true}, left_up, function(one)
      return list_dependencies(P, call, one)
    end)
    met = found and through
  end
  if left_down < 0 and left_up < 0 then
    return {E_TOO_BIG, id}
  end
  return met and {E_INVALID, met} or nil
end
