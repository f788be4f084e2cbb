#!lua name=gatepost_hot_2
-- Functions of the hot store: the streams of buffered steps, each with a fence.
-- Keys of each: the fence of a thread (a hash), its stream, the set of threads that have entries.
-- The fence has `token`, the lease that may append; `seq`, the event of the thread's log up to which
-- who set it had seen the thread; `number`, that of the last entry.

local WEEK = 7 * 24 * 3600

-- Let a lease append. Arguments: its token, the last event that its holder knows.
-- One who knows less than who set the fence last has lost the thread.
local function open(keys, args)
  if tonumber(args[2]) < tonumber(server.call('HGET', keys[1], 'seq') or '0') then
    return server.error_reply('FENCED the thread has moved on')
  end
  server.call('HSET', keys[1], 'token', args[1], 'seq', args[2])
  server.call('PERSIST', keys[1])
  return {tonumber(server.call('HGET', keys[1], 'number') or '0'), server.call('XLEN', keys[2])}
end

-- Let nobody append who knows no more than the event args[1]; 0 where there was no fence.
local function close(keys, args)
  local seq = server.call('HGET', keys[1], 'seq')
  if not seq then
    return 0
  end
  if tonumber(args[1]) >= tonumber(seq) then
    server.call('HSET', keys[1], 'token', '', 'seq', args[1])
    server.call('EXPIRE', keys[1], WEEK)
  end
  return 1
end

-- Append entries, all or none. Arguments: token, number of the last entry that the holder appended,
-- how many the stream may hold, the thread, then the entries. The answer is the new number; the
-- same once more for an append whose answer was lost, also when others followed it.
local function append(keys, args)
  local fence = server.call('HMGET', keys[1], 'token', 'number')
  if fence[1] ~= args[1] then
    return server.error_reply('FENCED another lease has the thread')
  end
  local number, count = tonumber(fence[2] or '0'), #args - 4
  if number >= tonumber(args[2]) + count then
    return tonumber(args[2]) + count
  end
  if number ~= tonumber(args[2]) then
    return server.error_reply('GAP the last entry is number ' .. number)
  end
  if server.call('XLEN', keys[2]) + count > tonumber(args[3]) then
    return server.error_reply('FULL the stream holds as much as it may')
  end
  for i = 5, #args do
    server.call('XADD', keys[2], '*', 'step', args[i])
  end
  server.call('HSET', keys[1], 'number', number + count)
  server.call('SADD', keys[3], args[4])
  return number + count
end

-- Drop the entries up to the id args[1], which are stored elsewhere by now; how many are left.
local function trim(keys, args)
  server.call('XTRIM', keys[2], 'MINID', args[1])
  local left = server.call('XLEN', keys[2])
  if left == 0 then
    server.call('SREM', keys[3], args[2])
  end
  return left
end

server.register_function('gatepost_hot_open_2', open)
server.register_function('gatepost_hot_close_2', close)
server.register_function('gatepost_hot_append_2', append)
server.register_function('gatepost_hot_trim_2', trim)
