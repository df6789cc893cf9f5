--[[
  check_index: do the records of the jobs on a list say that they are there? And is a tag's count of its jobs right?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be
    ARGV[2] which list: a state, for that state's list of a queue; "keyed"; "tag"; "tracked"; "crons"
    ARGV[3] the queue, or the tag
    ARGV[4] the place on the list to begin at
  Returns {0, the place to go on from, -1: that was all; then for each find: its key, what is wrong, 1 if it was
  repaired}. Looks at 100 members. Repairs the list, and a tag's count. Publishes to the workers
  that get jobs which are no longer held. O(members).
]]
--- @include "finds"
--- @include "jobs"
--- @include "where"
--- @include "available"

local P, which, name, from = KEYS[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local IS_OF_NO_QUEUE = {tag = true, tracked = true, crons = true}
local check = new_check(P, ARGV[1], function()
  return IS_OF_NO_QUEUE[which] or Jobs.are_sound(P, name)
end)
local PAGE = 100

-- For each kind of list: its key; a function that tells whether a member is wrong there; a function that removes one. A
-- member whose record cannot be read is not wrong, because nobody knows where the job should be.
local function of_state(state)
  local key = Jobs.index(P, state, name)
  return key, function(member)
    local job = where_is(P, Jobs.id_of(member))
    return job == false or (job and not (job.state == state and job.queue == name and member_of(job) == member))
  end, function(member)
    redis.call('ZREM', key, member)
  end
end

-- An entry of the group "broken" may have no record: that is why it is there.
local function of_failed()
  return P .. 'failed:' .. name, function(member, score)
    local id = Failed.job_of(member)
    local job = id and where_is(P, id)
    if not id or job == nil then
      return false
    end
    return job and not (job.state == 'failed' and job.queue == name and tonumber(job.entry) == tonumber(score))
      or (job == false and Failed.parse(member) ~= 'broken')
  end, function(member)
    Failed.remove(P, name, member)
  end
end

local function of_tag()
  local key = P .. 'tag:' .. name
  return key, function(id)
    local job, lacks = where_is(P, id)
    return job == false or (job and not string.find('\n' .. (job.tags or '') .. '\n', '\n' .. name .. '\n', 1, true))
      or (not job and lacks == 'state' and redis.call('HEXISTS', P .. 'job:' .. id, 'tags') == 0)
  end, function(id)
    redis.call('ZREM', key, id)
    if (tonumber(try('ZINCRBY', P .. 'tags', -1, name)) or 1) <= 0 then
      redis.call('ZREM', P .. 'tags', name)
    end
  end
end

local function of_tracked()
  local key = P .. 'tracked'
  return key, function(id)
    local job = where_is(P, id)
    return job == false or (job and job.tracked ~= '1')
  end, function(id)
    redis.call('ZREM', key, id)
  end
end

-- A record that cannot be read has no key: nobody may wait for its end.
local function of_keyed()
  local key = P .. 'keyed:' .. name
  return key, function(member)
    local one = Jobs.keys.parse(member)
    local job = one and where_is(P, one.id)
    return not (job and job.queue == name and Jobs.is_keyed(job)
      and Jobs.keys.member(job, job.state) == member)
  end, function(member)
    redis.call('ZREM', key, member)
    local one = Jobs.keys.parse(member)
    if one then
      Jobs.keys.settle(P, name, one.key)
    end
  end
end

local function of_crons()
  local key = P .. 'crons'
  return key, function(id)
    local job = where_is(P, id)
    return job == false or (job and not (job.state == 'recurring' and job.cron and job.final ~= '1'))
  end, function(id)
    redis.call('ZREM', key, id)
  end
end

local OTHERS = {crons = of_crons, failed = of_failed, keyed = of_keyed, tag = of_tag, tracked = of_tracked}
local key, is_wrong, remove = (OTHERS[which] or of_state)(which)

local function look_at_tag_count()
  local jobs, counted = try('ZCARD', key), try('ZSCORE', P .. 'tags', name)
  if jobs and counted ~= nil and jobs ~= (tonumber(counted or nil) or 0) then
    note_find(check, P .. 'tags', "does not agree with the list of the tag '" .. name .. "'", function()
      if jobs > 0 then
        redis.call('ZADD', P .. 'tags', jobs, name)
      else
        redis.call('ZREM', P .. 'tags', name)
      end
      return 'counted again'
    end)
  end
end

-- Jobs of a key are held only while as many of it run or wait as may, or until somebody has looked.
local function look_at_held(page)
  local seen, keys = {}, {}
  for i = 1, #page, 2 do
    local one = Jobs.keys.parse(page[i])
    if one and one.state == 'held' and not seen[one.key] then
      seen[one.key], keys[#keys + 1] = true, one.key
    end
  end
  local is_in_order = #keys > 0 and redis.call('ZCOUNT', key, 0, 0) == redis.call('ZCARD', key)
  if not is_in_order or try('HEXISTS', P .. 'queue:' .. name, 'unhold') ~= 0 then
    return
  end
  for _, one in ipairs(keys) do
    if Jobs.keys.taken(P, name, one) < Jobs.keys.limit(P, name) then
      note_find(check, key, "holds jobs of the key '" .. one .. "', of which more may run", function()
        Jobs.keys.settle(P, name, one)
        return 'released'
      end)
    end
  end
end

local page = try('ZRANGE', key, from, from + PAGE - 1, 'WITHSCORES') or {}
local wrong = {}
for i = 1, #page, 2 do
  wrong[#wrong + 1] = is_wrong(page[i], page[i + 1]) and page[i] or nil
end
if #wrong > 0 then
  note_find(check, key, 'names ' .. plural(#wrong, 'job') .. ', but their records say otherwise or are gone', function()
    for _, member in ipairs(wrong) do
      remove(member)
    end
    return 'removed'
  end)
end
if which == 'keyed' then
  look_at_held(page)
end
local kept = #page / 2 - (check.repair and check.can_mend() and #wrong or 0)
check.answer[2] = #page == 2 * PAGE and from + kept or -1
if which == 'tag' and #page < 2 * PAGE then
  look_at_tag_count()
end
hand_over_jobs(P)
return check.answer
