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

-- The ids of names of what jobs wait for (include job_dependencies).
local function ids_of_names(names)
  local ids = {}
  for i, name in ipairs(names) do
    ids[i] = Jobs.parse_name(name)
  end
  return ids
end

-- The jobs that wait for this one; `call` (of job_put, may be nil) tells which of them will wait for others instead.
local function list_dependents(P, call, id, n)
  local all = try('ZRANGE', P .. 'dependents:' .. id, 0, n) or {}
  for _, name in ipairs(try('ZRANGE', P .. 'followers:' .. id, 0, n) or {}) do
    all[#all + 1] = Jobs.parse_name(name)
  end
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
  local is_new = spec and spec.is_sound and #spec.after > 0
  return ids_of_names(is_new and spec.after or try('SMEMBERS', P .. 'dependencies:' .. id) or {})
end

-- Does the job recur, or will it after the call? And its state; true if it will be there after the call; false if
-- not.
local function is_recurring(P, call, id)
  local spec = call and call.of_id[id]
  if spec and spec.is_sound then
    return spec.given.every or spec.given.cron or (spec.is_change and (spec.old.every or spec.old.cron)), true
  end
  local _, state = Jobs.is_open(P, id)
  return state == 'recurring', state or false
end

-- Why a job can wait in no such way for one of this state, as obstacle_to_wait() says it. `kind`: see the include
-- job_dependencies.
local function obstacle_by_state(on, kind, state, must_exist)
  if not state and (must_exist or kind == '\nf') then
    return {E_NOT_FOUND, kind == '\nf' and 'after_failure' or 'after', on}
  elseif state == 'complete' and kind == '\nf' then
    return {E_STATE, 'will not fail', on}
  end
end

-- Why the job cannot wait for those of `after`: nil if it can; otherwise {E_INVALID, id} of the first one that waits
-- for it, is itself, or never ends; {E_NOT_FOUND, 'after', id} of one that is not there, if `must_exist`;
-- {E_NOT_FOUND, 'after_failure', id} and {E_STATE, 'will not fail', id} of one whose failure it would wait for, and
-- that is not there, or is complete; {E_TOO_BIG, its own id} if too many jobs are tied together to see. A job that none
-- waits for, so each new one, is never walked from. Of the others one side is mostly small: the jobs that wait for this
-- one, or those that the named ones wait for. `call`: that of job_put, if other jobs are put in the same script.
local function obstacle_to_wait(P, id, after, call, must_exist)
  local wanted = {}
  for _, name in ipairs(after) do
    local on, kind = Jobs.parse_name(name)
    local recurs, state = is_recurring(P, call, on)
    local obstacle = (on == id or recurs) and {E_INVALID, on} or obstacle_by_state(on, kind, state, must_exist)
    if obstacle then
      return obstacle
    end
    wanted[on] = true
  end
  if #after == 0 or (redis.call('EXISTS', P .. 'dependents:' .. id, P .. 'followers:' .. id) == 0
      and not (call and call.waiting_for[id])) then
    return nil
  end
  local met
  left_down, met = walk({id}, wanted, left_down, function(one, n)
    return list_dependents(P, call, one, n)
  end)
  if left_down < 0 then
    local found, through
    left_up, found, through = walk(ids_of_names(after), {[id] = true}, left_up, function(one)
      return list_dependencies(P, call, one)
    end)
    met = found and through
  end
  if left_down < 0 and left_up < 0 then
    return {E_TOO_BIG, id}
  end
  return met and {E_INVALID, met} or nil
end
