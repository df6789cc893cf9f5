--[[
  Jobs: their records, and the moves between their states. A job is in exactly one state. Its record says in which, and
  the index of that state and queue has it as a member "<place><id>". The place is a token drawn when the job began to
  wait. Members of equal score are in the order of their places, so equal priorities are first in, first out. Only in a
  fair queue the round of a job that waits comes before its place (`round`). A failed
  job stands on the failed list instead of an index; a running one stands in its holder's set too, under "j<token>".

  Every move is leave(), then enter(), then save(), which writes all changed fields of the record. None of these
  functions is made before a script meets its first job: for Redis, making a function costs more than calling it. The
  pieces are `failed` and `job_*`.
]]
local Jobs = {gathered = false, moving = false, places = false}
-- Queues that got a job to take, or a free place under their limit: the script must hand over there before it ends.
local touched_by_jobs = {}

--- @include "chunk"
--- @include "lazy"
--- @include "token"
--- @include "round"
--- @include "clock"
--- @include "try"
--- @include "types"
--- @include "whole"
--- @include "failed"
--- @include "set_due"
--- @include "marks"
--- @include "returned"

local function make_jobs()
  local Batches = {} -- what is done to batches; for scripts `Jobs.batches`
  Jobs.batches = Batches
  local Keys = {deferred = false} -- what is done to jobs of a key; for scripts `Jobs.keys`
  Jobs.keys = Keys
--- @include "job_record"
--- @include "job_states"
--- @include "job_tags"
--- @include "job_dependencies"
--- @include "job_new"
  -- What only jobs of a key need.
  local function make_keys()
--- @include "job_keys"
  end
  make_when_needed(Keys, make_keys)
  -- What a put of a new job does without.
  local function make_rest()
--- @include "job_let_go"
--- @include "job_ends"
--- @include "job_recur"
--- @include "job_due"
--- @include "job_process"
  end
  make_when_needed(Jobs, make_rest)
  -- What only jobs that are members of a batch need.
  local function make_batches()
--- @include "job_batch"
--- @include "job_batch_moves"
  end
  make_when_needed(Batches, make_batches)
end

make_when_needed(Jobs, make_jobs)
