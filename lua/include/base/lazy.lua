--[[
  Functions that are made when they are needed: for Redis, making one costs more than calling it. They are fields of a
  table, made together as soon as one of them is asked for. Within a function it is cheaper to make them, too: Lua looks
  through all variables of the enclosing functions for each one that a new function uses.
]]
local function make_when_needed(owner, make)
  setmetatable(owner, {__index = function(_, name)
    setmetatable(owner, nil)
    make()
    return owner[name]
  end})
end
