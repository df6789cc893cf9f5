--[[
  put: put jobs, all of them or none. Each is new, or takes the place of one that is complete or failed; or it changes
  one that is alive. Or put a unique task: a job that is nothing but a task whose equals are refused while it is alive.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue
    ARGV[2...] what is said of the whole call: names and values, then "". `request`: the id of a request; `chunk`: which
      one of its chunks this is; `of`: how many jobs the request has; `new_<field>`: what a field is of a job that is
      new, unless its spec gives it.
      Then the specs. Each is an id ("": a unique task, whose id is made of queue and data), names and values, and ""
      (the last one does without). The names are fields of the record (doc/keys.md); and `replace` "1": change one that
      is alive or failed, and move it here; `tag`, once for each tag; `after`, `after_end` and `after_failure`, once for
      each job that is to be complete, to have ended in any way, or to have failed before it; `may_be_missing` "1": so
      may those of the first two; `delay`, ms until it is ready, or `at`, Unix time in ms; `every`, which makes
      it recur, or `cron`, which does so at the `ticks` that follow `last`; `final` "1": these are all
  Returns {0, id of the first}; else nothing was changed, and `i` says which spec it is, from 1:
    {E_EXISTS, what it is, id, i}    a job of this id is alive and not to be changed, or is a unique task; "ending": one
                                     has ended, and others are still let go; "twice": the call has this id twice
    {E_EXISTS}                       this chunk of the request had other content the first time
    {E_INVALID, id, "", i}           it would wait for itself, or for a recurring job
    {E_INVALID, id, "recurs", i}     it recurs, or would, and waits for others, or they for it
    {E_INVALID, id, "timed", i}      it goes on recurring, so it has no time, and by a schedule no delay
    {E_INVALID, id, "over", i}       it would recur, and its last time is over before its first one
    {E_TOO_BIG, id, "", i}           too many jobs are tied together to see whether it would wait for itself
    {E_NOT_FOUND, "data", id, i}     it replaces, and has no data, and there is no record that has
    {E_NOT_FOUND, "after", its id, i}        there is no such job to wait for, nor one before it in this call
    {E_NOT_FOUND, "after_failure", its id, i}    the same, of one whose failure it would wait for
    {E_STATE, "will not fail", its id, i}    the same, of one that is complete
    {E_NOT_FOUND, "batch", its id, i}        it cannot join the batch: that is not there,
    {E_STATE, "batch <state>", its id, i}    or not open,
    {E_STATE, "member", its id, i}           or the job is a member of this one
    {E_STATE, "recurs", "", i}               or the job recurs, and would never end
    {E_STATE, "ending", id, i}       the same of a unique task: nobody would do the work
    {E_STATE, "dropped", id, i}      a job of this id runs, but is dropped unless it is finished: it is a unique task
                                     that was cancelled, or its queue was deleted
    {E_STATE, "no unique task", id, i}       it is a unique task, and a job that is none has its id, or has failed
    {E_REDIS, key}                   a key of the wrong type
  A chunk that was put before is not put again. A full Redis refuses the call before anything is changed.
  Writes the jobs' records, histories, tags and dependencies, and the indexes that they leave and enter; the members of
  batches; for a request its record. The record of a job that stays as it is, and of a request, is written again.
  Publishes to the worker that gets one, to one that loses one, and to those who listen.
  O(jobs * (log n, tags, and the jobs that each waits for)).
]]
--- @include "job_put"
--- @include "available"

local P, queue = KEYS[1], ARGV[1]
local call = {queue = queue, args = ARGV, new = {}, specs = {}, of_id = {}, waiting_for = {}}
local asked_of_call = {}
local at, n_args = 2, #ARGV
while at < n_args and ARGV[at] ~= '' do
  local field = string.match(ARGV[at], '^new_(.*)')
  if field then
    call.new[field] = ARGV[at + 1]
  else
    asked_of_call[ARGV[at]] = ARGV[at + 1]
  end
  at = at + 2
end
at = at + 1
while at <= n_args do
  local spec
  spec, at = read_spec(ARGV, at, n_args)
  if spec.id == '' then
    spec.id, spec.given.unique = Jobs.unique_id(queue, spec.given.data), '1'
  end
  call.specs[#call.specs + 1] = spec
  call.of_id[spec.id] = call.of_id[spec.id] or spec
end

local note_request
if asked_of_call.request then
--- @include "request"
  local request, chunk, lengths = P .. 'request:' .. asked_of_call.request, asked_of_call.chunk, {'put'}
  for i = 1, n_args do
    lengths[i + 1] = #ARGV[i]
  end
  local digest = redis.sha1hex(table.concat(lengths, ':') .. table.concat(ARGV))
  local answer = earlier_answer(request, chunk, digest)
  if damaged then
    return {E_REDIS, damaged}
  elseif answer == false then
    return {E_EXISTS}
  elseif answer then
    return {0, answer}
  end
  note_request = function()
    note_answer(request, chunk, digest, call.specs[1].id)
  end
end
if not Jobs.can_arrive(P, queue) then
  return {E_REDIS, damaged}
end
call.is_fair = Jobs.is_fair(P, queue)
ask_for_keys(P, call.specs)
let_go_cancelled(P, call.specs)
for number = 1, #call.specs do
  local refusal = refusal_of(P, call, number)
  if refusal then
    return refusal
  end
end

put_all(P, call)
if note_request then
  note_request()
end
hand_over_jobs(P)
return {0, call.specs[1].id}
