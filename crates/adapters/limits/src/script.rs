//! The scripts that run inside Redis.

/// One check, as `sliding` does it in memory. Its keys are the subject's and that of Redis's memory; its
/// arguments are the name of the memory that the node knows, then limit and length of each window. It returns
/// whether the request is allowed, and limit, remaining, reset and retry-after of the window with less left;
/// or -1 if Redis has lost that memory.
///
/// A subject is a hash from second to number of requests, which expires a little after its last second has
/// left the window. Its key contains the memory's name, so that counts of an earlier memory do not apply.
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

/// Announces a node. Its keys are those of the nodes, of Redis's memory, and of the nodes that have reported
/// to it. Its arguments are the node; for how many seconds a node counts after its last announcement, for how
/// many it is awaited, and after how many without any announcement unknown nodes may have come; a name for
/// the memory if it is new; the name of the memory to which the node has reported everything, or none; the
/// announcement after which the other nodes must have reported; and the nodes that are awaited because they
/// were there before the memory was. It returns the number of this announcement, the number of nodes, the
/// memory's name, whether it is complete, the other nodes that announced themselves lately, and whether all
/// awaited nodes have reported or have had the time to.
///
/// A memory is new if there was none, or if another run of a Redis server left it: what is loaded from a
/// file, or copied to a replica, may lack the latest requests. It is complete if nodes have announced
/// themselves without a pause for so long that every living one has done so, and all of these have reported.
pub(crate) const ANNOUNCE: &str = r"
local nodes, memory, told = KEYS[1], KEYS[2], KEYS[3]
local node, counted_for, waited_for, pause = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local now = tonumber(redis.call('TIME')[1])

-- Who may not ask for it has the same answer always, and a copy of the memory passes for the memory.
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or 'unknown'
if redis.call('HGET', memory, 'run') ~= run then
    redis.call('DEL', memory, told)
    redis.call('HSET', memory, 'name', ARGV[5], 'run', run)
end
local name, heard = unpack(redis.call('HMGET', memory, 'name', 'heard'))
if not heard or math.abs(now - tonumber(heard)) > pause then redis.call('HSET', memory, 'since', now) end
redis.call('HSET', memory, 'heard', now)
local number = redis.call('HINCRBY', memory, 'announcements', 1)

redis.call('ZADD', nodes, now, node)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', nodes, '-inf', now - counted_for)) do
    redis.call('ZREM', nodes, gone)
    redis.call('HDEL', told, gone)
end
-- A clock set back leaves nodes behind that seem to be heard of in the future.
redis.call('ZREMRANGEBYSCORE', nodes, now + pause + 1, '+inf')
redis.call('EXPIRE', nodes, counted_for)
if ARGV[6] == name then
    redis.call('HSET', told, node, number)
    redis.call('EXPIRE', told, 2 * counted_for)
end

local complete, others = 1, {}
for _, other in ipairs(redis.call('ZRANGEBYSCORE', nodes, now - waited_for, '+inf')) do
    local told_at = tonumber(redis.call('HGET', told, other) or 0)
    if told_at < tonumber(ARGV[7]) then complete = 0 end
    if other ~= node then table.insert(others, other) end
end

local have_told = 1
for i = 8, #ARGV do
    if redis.call('HEXISTS', told, ARGV[i]) == 0 then have_told = 0 end
end
if now - tonumber(redis.call('HGET', memory, 'since')) < waited_for then
    complete = 0
else
    have_told = 1
end
return { number, redis.call('ZCARD', nodes), name, complete, others, have_told }
";

/// Reports what a node allowed by itself. Its keys are those of the subjects; its arguments are, for each
/// subject, for how many seconds it matters, the number of pairs that follow, and the pairs: how many seconds
/// ago, and how many requests.
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
