--[[
  Putting back: tasks whose owner is gone go to the front of their queue, in the order in which he took them. What was
  cancelled is dropped on the way, and what has killed too many goes onto the failed list.
]]
--- @include "token"
--- @include "marks"
--- @include "crashes"
--- @include "failed"
--- @include "chunk"

-- The numbers of those that are not marked; marks and notes are taken away.
local function drop_marked(P, worker, queue, numbers)
  if not has_marks(P, worker) then
    return numbers
  end
  local kept, cancelled = {}, 0
  for _, number in ipairs(numbers) do
    local kind = unmark(P, worker, token_text(math.floor(number)))
    if not kind then
      kept[#kept + 1] = number
    elseif kind == CANCELLED then
      cancelled = cancelled + 1
    end
  end
  count_cancelled(P, queue, cancelled)
  return kept
end

-- Counts a crash for each task of a dead holder. Those that have killed too many go onto the failed list; answers the
-- numbers of the others.
local function stop_poison(P, worker, queue, numbers, tasks, now, why)
  local most = max_crashes(P, queue)
  local kept = {}
  if most == 0 or #numbers == 0 then
    return numbers
  end
  for _, number in ipairs(numbers) do
    local task = tasks[number]
    local crashes = count_crash(P, queue, task)
    if crashes >= most then
      add_failed(P, queue, now, token_text(math.floor(number)), worker, 'crashed',
        why .. ', ' .. crashes .. ' times', task)
      forget_crashes(P, queue, task)
    else
      kept[#kept + 1] = number
    end
  end
  keep_crashes(P, queue)
  return kept
end

-- Tasks by the numbers of their tokens, oldest first.
local function push_front(P, queue, numbers, tasks)
  local chunk = {}
  for i = #numbers, 1, -1 do -- newest first, so that the oldest is the next out
    chunk[#chunk + 1] = tasks[numbers[i]]
    if #chunk == CHUNK or i == 1 then
      redis.call('RPUSH', P .. 'queues:' .. queue, unpack(chunk))
      chunk = {}
    end
  end
end
