--[[
  The failed list of a queue: a zset by a token that is drawn for each failure, as a number. It is the entry's time,
  order and name in one. A member is "<token>:<length of worker>:<length of group>:<length of message>:", then these
  three and the task; its token is the process'. A failed job's member begins with "j", and has the job's id for the
  task; that of a unique task begins with "u". P:failures:<q> counts the entries of each group ("g:" + group), those
  that are jobs ("jobs") and the bytes of all ("bytes").

  A list keeps all its entries, unless the settings keep_failed, keep_failed_bytes or keep_failed_ms say otherwise:
  then the oldest ones go, a job's record with its entry. What goes so is counted in the queue's field `dropped`, and a
  worker is told.

  The functions of Failed are made when the first one is called.
]]
--- @within "jobs"
--- @include "lazy"
--- @include "marks"
--- @include "token"
--- @include "try"
--- @include "types"
--- @include "whole"

-- One script looks at so many entries, and moves no more bytes, unless one entry has more.
local FAILED_PAGE, PAGE_BYTES = 100, 4194304

-- Have the keys that a failure writes the right types?
local function can_fail(P, queue)
  return have_types({'ZCARD', P .. 'failed:' .. queue, 'HLEN', P .. 'failures:' .. queue})
    and has_type('STRLEN', P .. 'token')
end

local Failed = {}

local function make_failed()
--- @include "failed_list"
end

make_when_needed(Failed, make_failed)
