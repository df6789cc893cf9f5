--[[
  cancel_jobs: cancel jobs by their ids. They are gone at once, so their ids are free. The processes of those in work
  are marked, and their holders are told: no end of such a process counts. The jobs that wait for them are noted on a
  list, and gone for everybody from then on; their records go in steps. A unique task in work is only marked: it may
  still finish, and is dropped if its process ends in any other way.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": and all that wait for them; "2": go on with the list that an earlier call has left; "0": these alone;
      "3", "4": as "0", "1", but only those that are as they were when they were chosen
    ARGV[2...] ids; with "2": the first id and the queue that the earlier call has answered; with "3" and "4": a state
      and a queue, each "" for any, then pairs of an id and when it was put
  Returns {0, number of jobs that are gone and were in nobody's hands, number of those that were, how many records are
  left, the first id and its queue}; a job under a lease that is over counts as in nobody's hands; {E_STATE, id} of a
  job that waits for one of them and is not among them; {E_TOO_BIG} for more than 5 000 jobs, or more than 500 that are
  named; {E_REDIS, key} for a key of the wrong type: nothing was changed. An id that no job has, or a complete one, is passed
  over. If nobody goes on for a second, whatever moves what is due does.
  Writes marks and flags of the holders; deletes the jobs' records, and their members of indexes.
  Publishes to the holders, and to those who listen. O(jobs log n).
]]
--- @include "jobs"
--- @include "available"
--- @include "lapsed"
--- @include "clock"

local P = KEYS[1]
local MOST = 5000
local MOST_NAMED = 500
local PAUSE_MS = 1000
if ARGV[1] == '2' then
  try('HDEL', P .. 'config', '-') -- needs no memory, so that a full Redis allows the others
  local id, queue = unpack(ARGV, 2, 3)
  local left = Jobs.go_on_cancelling(P, id, queue, now_ms() + PAUSE_MS)
  hand_over_jobs(P)
  return {0, 0, 0, left, id, queue}
end

local is_chosen, with_all = ARGV[1] >= '3', ARGV[1] == '1' or ARGV[1] == '4'
local state_chosen, queue_chosen = unpack(ARGV, 2, 3)
local meant, ids, named, at = {}, {}, {}, 1
-- Is a job that was chosen still what was chosen? One of the same id that was put later is not. It is as if it had not
-- been named: if it waits for one of them, it goes as others that wait, or nothing is changed.
local function is_still_chosen(id, put)
  local now = try('HMGET', P .. 'job:' .. id, 'put', 'state', 'queue') or {}
  return tonumber(now[1] or nil) == tonumber(put)
    and (state_chosen == '' or state_chosen == now[2]) and (queue_chosen == '' or queue_chosen == now[3])
end
for i = is_chosen and 4 or 2, #ARGV, is_chosen and 2 or 1 do
  if not meant[ARGV[i]] and (not is_chosen or is_still_chosen(ARGV[i], ARGV[i + 1])) then
    meant[ARGV[i]], named[ARGV[i]] = true, true
    ids[#ids + 1] = ARGV[i]
  end
end
local jobs, doomed, sound = {}, {}, {}
local is_idle = next(Jobs.cancelling_lists(P)) == nil -- mostly nobody else is cancelling
-- Mostly a job depends, and was not named: of such a job three fields are enough.
local function is_to_cancel(id)
  local head = not named[id] and try('HMGET', P .. 'job:' .. id, 'state', 'queue', 'place')
  if head and head[1] == 'depends' and head[2] and head[3] and #head[3] == TOKEN_LEN then
    if is_idle or not Jobs.is_doomed(P, id, head[3]) then
      doomed[#doomed + 1] = id
      doomed[#doomed + 1] = head[3]
      return head[2]
    end
    return nil
  end
  local job = Jobs.read_head(P, id)
  if job and job.state ~= 'complete' and (is_idle or not Jobs.is_doomed(P, id, job.place)) then
    jobs[#jobs + 1] = job
    return job.queue, not Jobs.can_take_away(P, job)
  end
end
while ids[at] do
  local id = ids[at]
  local queue, is_stuck = is_to_cancel(id)
  if queue then
    sound[queue] = sound[queue] or Jobs.are_sound(P, queue)
    if not sound[queue] or is_stuck then
      return {E_REDIS, damaged}
    end
    for _, dependent in ipairs(try('ZRANGE', P .. 'dependents:' .. id, 0, MOST) or {}) do
      if not meant[dependent] and with_all then
        meant[dependent] = true
        ids[#ids + 1] = dependent
      elseif not meant[dependent] and Jobs.is_open(P, dependent) then
        return {E_STATE, dependent}
      end
    end
  end
  if #ids > MOST or #jobs > MOST_NAMED then
    return {E_TOO_BIG}
  end
  at = at + 1
end
if #doomed > 0 and not (try('ZCARD', P .. 'ended') and try('ZCARD', P .. 'freed:' .. 'c' .. jobs[1].id)) then
  return {E_REDIS, damaged}
end

try('HDEL', P .. 'config', '-') -- needs no memory, so that a full Redis allows the others
Jobs.keys.deferred = {}
-- First these jobs wait for nothing any more: otherwise one of them would fail because another is gone.
for _, job in ipairs(jobs) do
  Jobs.remove_dependencies(P, job.id)
end
-- Before anything else is lost: those that wait for them are on the list.
local left, first = 0, jobs[1]
if #doomed > 0 then
  left = Jobs.doom(P, first.id, doomed, first.queue, now_ms() + PAUSE_MS)
end
local removed, running, lapsed = #doomed / 2, 0, {}
local function mark_job(job)
  local over, unmarked = 0, 0
  if job.worker == LEASE then
    lapsed[job.queue] = lapsed[job.queue] or lapsed_tokens(P, job.queue, now_ms())
    over, unmarked = count_lapsed(P, lapsed[job.queue], {job.token})
  end
  running, removed = running + 1 - over, removed + unmarked
  Jobs.cancel_running(P, job)
end
for _, job in ipairs(jobs) do
  if try('ZCARD', P .. 'dependents:' .. job.id) then
    redis.call('DEL', P .. 'dependents:' .. job.id) -- all of them are among the jobs, or on the list
  end
  if Jobs.is_in_hands(P, job) then
    mark_job(job)
  else
    Jobs.cancel(P, job, '')
    removed = removed + 1
  end
end
if #Jobs.keys.deferred > 0 then
  Jobs.keys.settle_deferred(P)
end
hand_over_jobs(P)
return {0, removed, running, left, first and first.id or '', first and first.queue or ''}
