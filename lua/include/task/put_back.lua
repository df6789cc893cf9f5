--[[
  Putting back: tasks whose holder is gone go to the front of their queue, in the order in which it took them. Cancelled
  tasks are dropped on the way. A task that has killed too many holders goes onto the failed list.
]]
--- @include "token"
--- @include "marks"
--- @include "crashes"
--- @include "jobs"
--- @include "fields"
--- @include "chunk"

-- Drops a marked process. `task` is as it was in the set; a job is {job = id}.
local function drop_process(P, worker, queue, token, task, kind)
  if type(task) == 'table' then
    local job = Jobs.read_or_fail(P, queue, task.job, token, worker)
    if job then
      Jobs.cancel(P, job, worker, kind)
    end
  elseif kind == CANCELLED then
    count_cancelled(P, queue, 1)
  end
end

-- Drops the marked processes, and removes marks and notes. Returns the numbers of the others.
local function drop_marked(P, worker, queue, numbers, tasks)
  if not has_marks(P, worker) then
    return numbers
  end
  local kept = {}
  for _, number in ipairs(numbers) do
    local token = token_text(math.floor(number))
    local kind = unmark(P, worker, token)
    if kind then
      drop_process(P, worker, queue, token, tasks[number], kind)
    else
      kept[#kept + 1] = number
    end
  end
  return kept
end

-- Counts a crash in the record of a dead holder's job. Does the job live on?
local function crash_job(P, worker, queue, number, id, most, why)
  local token = token_text(math.floor(number))
  local job = Jobs.read_or_fail(P, queue, id, token, worker)
  return job and Jobs.count_crash(P, job, worker, token, most, why)
end

-- Counts a crash for each task and job of a dead holder. Those that have killed too many holders go onto the failed
-- list. Returns the numbers of the others.
local function stop_poison(P, worker, queue, numbers, tasks, now, why)
  local most = max_crashes(P, queue)
  local kept, counted = {}, false
  for _, number in ipairs(numbers) do
    local task = tasks[number]
    if type(task) == 'table' then
      kept[#kept + 1] = crash_job(P, worker, queue, number, task.job, most, why) and number or nil
    elseif most == 0 then
      kept[#kept + 1] = number
    else
      counted = true
      local crashes = count_crash(P, queue, task)
      if crashes >= most then
        add_failed(P, queue, now, token_text(math.floor(number)), worker, 'crashed',
          why .. ', ' .. crashes .. ' times', task)
        forget_crashes(P, queue, task)
      else
        kept[#kept + 1] = number
      end
    end
  end
  if counted then
    keep_crashes(P, queue)
  end
  return kept
end

-- Puts a job back to where it was.
local function put_back_job(P, queue, number, id)
  local job = Jobs.read_or_fail(P, queue, id, token_text(math.floor(number)), '')
  if job then
    Jobs.give_back(P, job, 'given-back')
  end
end

-- Puts tasks back to the front, and jobs to where they were. `numbers`: those of their tokens, oldest first.
local function push_front(P, queue, numbers, tasks)
  local chunk = {}
  for i = #numbers, 1, -1 do -- newest first, so that the oldest is the next out
    local task = tasks[numbers[i]]
    if type(task) == 'table' then
      put_back_job(P, queue, numbers[i], task.job)
    else
      chunk[#chunk + 1] = task
    end
    if #chunk == CHUNK or (i == 1 and #chunk > 0) then
      redis.call('RPUSH', P .. 'queues:' .. queue, unpack(chunk))
      chunk = {}
    end
  end
end
