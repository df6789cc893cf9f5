--[[
  The field `parents` of a job's record: all jobs that it was put to wait for, also those that have ended. A line each,
  the newest last: the id; after a tab the letter of what it waits for, if that is not that the other one is complete.
]]

local PARENTS_MAX = 1000

-- A list of parents that can be changed: `lines`, where false is one that was removed, and the place of each id.
local function read_parents(text)
  local parents = {lines = {}, place = {}}
  for line in string.gmatch(text or '', '[^\n]+') do
    local n = #parents.lines + 1
    parents.lines[n], parents.place[string.match(line, '^[^\t]*')] = line, n
  end
  return parents
end

local function remove_parent(parents, id)
  local at = parents.place[id]
  if at then
    parents.lines[at], parents.place[id] = false, nil
  end
end

-- `kind`: as in the include job_dependencies.
local function add_parent(parents, id, kind)
  remove_parent(parents, id)
  local n = #parents.lines + 1
  parents.lines[n], parents.place[id] = id .. (kind == '' and '' or '\t' .. string.sub(kind, -1)), n
end

-- The newest ones as text; nil if there is none.
local function parents_text(parents)
  local lines = {}
  for _, line in ipairs(parents.lines) do
    lines[#lines + 1] = line or nil
  end
  return #lines > 0 and table.concat(lines, '\n', math.max(1, #lines - PARENTS_MAX + 1)) or nil
end
