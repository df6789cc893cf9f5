--[[
  Fields of an in-process set. The field of a task is its token, that of a job is "j" and its token, so no payload can
  be taken for a job's id. Where tasks are gathered by the numbers of their tokens, a job stands there as {job = id}.
]]
--- @include "token"

local function token_of(field)
  return #field > TOKEN_LEN and string.sub(field, 2) or field
end

local function is_job_field(field)
  return #field == TOKEN_LEN + 1 and string.byte(field) == JOB_BYTE
end
