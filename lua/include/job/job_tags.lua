--[[
  How a job is found: by its tags, and by being tracked. A piece of jobs.
]]
--- @within "jobs"

local function tags_of(job)
  local tags = {}
  for tag in string.gmatch(job.tags or '', '[^\n]+') do
    tags[#tags + 1] = tag
  end
  return tags
end

function Jobs.tag(P, job, tag)
  for _, other in ipairs(tags_of(job)) do
    if other == tag then
      return
    end
  end
  if try('ZADD', P .. 'tag:' .. tag, 'NX', number(job, 'put'), job.id) == 1 then
    try('ZINCRBY', P .. 'tags', 1, tag)
  end
  Jobs.set(job, 'tags', (job.tags and job.tags .. '\n' or '') .. tag)
end

function Jobs.untag(P, job, tag)
  if try('ZREM', P .. 'tag:' .. tag, job.id) == 1 and tonumber(try('ZINCRBY', P .. 'tags', -1, tag) or 1) <= 0 then
    try('ZREM', P .. 'tags', tag)
  end
  local left = {}
  for _, other in ipairs(tags_of(job)) do
    left[#left + 1] = other ~= tag and other or nil
  end
  Jobs.set(job, 'tags', #left > 0 and table.concat(left, '\n') or nil)
end

function Jobs.untag_all(P, job)
  for _, tag in ipairs(tags_of(job)) do
    Jobs.untag(P, job, tag)
  end
end

function Jobs.track(P, job, is_tracked)
  if is_tracked then
    Jobs.set(job, 'tracked', '1')
    try('ZADD', P .. 'tracked', 'NX', now_ms(), job.id)
  else
    Jobs.set(job, 'tracked', nil)
    try('ZREM', P .. 'tracked', job.id)
  end
end
