--[[
  Jobs: their records, and the moves between their states. A job is in exactly one state: its record says in which, and
  the index of that state and queue has it, as a member "<place><id>". The place is a token drawn when the job began to
  wait: members of equal score are in the order of their places, so equal priorities are first in, first out. A failed
  job stands on the failed list instead of an index; a running one also in its holder's set, under "j<token>".

  Every move is leave(), then enter(), then save(); what is written to a record is gathered until then. Nothing of this
  is made before a first job is met: for Redis, making a function costs more than calling it. Its pieces are include/
  job_*.lua.
]]
local Jobs = {}
-- Queues that got something to take, or a place under their limit: the script hands over there in the end.
local touched_by_jobs = {}

--- @include "token"
--- @include "clock"
--- @include "try"
--- @include "types"
--- @include "failed"
--- @include "set_due"
--- @include "marks"

local function make_jobs()
--- @include "job_record"
--- @include "job_states"
--- @include "job_tags"
--- @include "job_dependencies"
--- @include "job_ends"
--- @include "job_due"
--- @include "job_process"
end

setmetatable(Jobs, {__index = function(_, name)
  setmetatable(Jobs, nil)
  make_jobs()
  return Jobs[name]
end})
