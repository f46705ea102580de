//! What runs inside Redis.

/// One check, as `sliding` does it in memory: keys of the subject and of Redis's memory, the name of the memory that the
/// node knows, then limit and length of each window. It answers whether the request is allowed, and limit, remaining,
/// reset and retry-after of the window with less left; or -1 if Redis has lost that memory.
///
/// A subject is a hash from second to number of requests, gone a little after its last second has left.
pub(crate) const CHECK: &str = r"
if redis.call('HGET', KEYS[2], 'name') ~= ARGV[1] then return { -1, 0, 0, 0, 0 } end
local now = tonumber(redis.call('TIME')[1])
local longest = 0
for i = 3, #ARGV, 2 do
    longest = math.max(longest, tonumber(ARGV[i]))
end

local seconds, last = {}, now
local stored = redis.call('HGETALL', KEYS[1])
for i = 1, #stored, 2 do
    local second = tonumber(stored[i])
    table.insert(seconds, { second, tonumber(stored[i + 1]) })
    last = math.max(last, second)
end
table.sort(seconds, function(a, b) return a[1] < b[1] end)
-- A clock set back a little must not open the window again; one set back by more was wrong before.
if last - now <= longest then now = last end

local kept = {}
for _, entry in ipairs(seconds) do
    if entry[1] < now - longest or entry[1] > now then
        redis.call('HDEL', KEYS[1], entry[1])
    else
        table.insert(kept, entry)
    end
end

local allowed = 1
local windows = {}
for i = 2, #ARGV, 2 do
    local window = { limit = tonumber(ARGV[i]), length = tonumber(ARGV[i + 1]), used = 0, oldest = now }
    for j = #kept, 1, -1 do
        if kept[j][1] < now - window.length then break end
        window.used = window.used + kept[j][2]
        window.oldest = kept[j][1]
    end
    if window.used >= window.limit then allowed = 0 end
    table.insert(windows, window)
end

local retry_after = 0
local tightest
for _, window in ipairs(windows) do
    if allowed == 1 then
        window.used = window.used + 1
    elseif window.used >= window.limit then
        local too_many, opens = window.used - window.limit + 1, now + window.length + 1
        for _, entry in ipairs(kept) do
            if entry[1] >= now - window.length then
                too_many = too_many - entry[2]
                if too_many <= 0 then
                    opens = entry[1] + window.length + 1
                    break
                end
            end
        end
        retry_after = math.max(retry_after, opens - now)
    end
    window.remaining = math.max(0, window.limit - window.used)
    window.reset = window.oldest + window.length + 1
    if not tightest or window.remaining < tightest.remaining
        or (window.remaining == tightest.remaining and window.reset > tightest.reset) then
        tightest = window
    end
end

if allowed == 1 then
    redis.call('HINCRBY', KEYS[1], now, 1)
    redis.call('EXPIRE', KEYS[1], longest + 2)
end
return { allowed, tightest.limit, tightest.remaining, tightest.reset, retry_after }
";

/// A node announces itself: keys of the nodes, of Redis's memory and of those that told it what they know; the node, for how
/// many seconds a node counts that is not heard of again, a name for the memory if it has none, and whether the node has told
/// everything. It answers how many nodes there are, the memory's name, its age in seconds, and how many have told.
pub(crate) const ANNOUNCE: &str = r"
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
redis.call('EXPIRE', KEYS[1], ARGV[2])
if redis.call('HSETNX', KEYS[2], 'name', ARGV[3]) == 1 then redis.call('HSET', KEYS[2], 'since', now) end
if ARGV[4] == '1' then
    redis.call('SADD', KEYS[3], ARGV[1])
    redis.call('EXPIRE', KEYS[3], 2 * ARGV[2])
end
local memory = redis.call('HMGET', KEYS[2], 'name', 'since')
return { redis.call('ZCARD', KEYS[1]), memory[1], now - tonumber(memory[2]), redis.call('SCARD', KEYS[3]) }
";

/// A node tells what it allowed by itself: the keys of the subjects; for each of them for how many seconds it matters, how many
/// pairs follow, and as pairs how many seconds ago and how often.
pub(crate) const TELL: &str = r"
local now = tonumber(redis.call('TIME')[1])
local place = 1
for _, key in ipairs(KEYS) do
    local kept_for, pairs = tonumber(ARGV[place]), tonumber(ARGV[place + 1])
    place = place + 2
    for _ = 1, pairs do
        redis.call('HINCRBY', key, now - tonumber(ARGV[place]), ARGV[place + 1])
        place = place + 2
    end
    redis.call('EXPIRE', key, kept_for + 2)
end
return #KEYS
";
