#!lua name=gatepost_voice_1
-- Functions of the hot store: the buffer of what people say in a conversation, one for each thread.
-- Keys of each: the state of the buffer (a hash), its stream, the set of threads with utterances that
-- are not recorded. An entry's id is its number. The state has `number`, that of the last utterance;
-- `recorded`, the last one that stands in the thread's log; `seq`, the event of that; and how many
-- came in the current minute.

local WEEK = 7 * 24 * 3600

local function state(keys)
  local values = server.call('HMGET', keys[1], 'number', 'recorded', 'seq')
  return {tonumber(values[1]), tonumber(values[2]), tonumber(values[3])}
end

-- Begin a buffer where there is none. Arguments: the last recorded number, the last event looked at.
local function open(keys, args)
  if server.call('EXISTS', keys[1]) == 0 then
    server.call('DEL', keys[2])
    server.call('HSET', keys[1], 'number', args[1], 'recorded', args[1], 'seq', args[2])
    server.call('EXPIRE', keys[1], WEEK)
  end
  return state(keys)
end

-- Add an utterance: 1, or 0 for one that is there already, word for word. Arguments: number, digest,
-- content, how many may be waiting, how many may come in a minute (0: any), the thread.
local function add(keys, args)
  local number = tonumber(args[1])
  local known = state(keys)
  if not known[1] then
    return server.error_reply('CLOSED no such buffer')
  end
  if number <= known[1] then
    local entry = server.call('XRANGE', keys[2], args[1] .. '-0', args[1] .. '-0')
    if #entry == 0 then
      return server.error_reply('OLD ' .. known[1] + 1)
    end
    if entry[1][2][2] ~= args[2] then
      return server.error_reply('OTHER ' .. known[1] + 1)
    end
    return 0
  end
  if number ~= known[1] + 1 then
    return server.error_reply('GAP ' .. known[1] + 1)
  end
  if known[1] - known[2] >= tonumber(args[4]) then
    return server.error_reply('FULL ' .. known[1] - known[2])
  end
  local now = tonumber(server.call('TIME')[1])
  local minute = math.floor(now / 60)
  local rate = server.call('HMGET', keys[1], 'minute', 'count')
  local count = tonumber(rate[1]) == minute and tonumber(rate[2]) or 0
  if tonumber(args[5]) > 0 and count >= tonumber(args[5]) then
    return server.error_reply('FAST ' .. (minute + 1) * 60 - now)
  end
  server.call('XADD', keys[2], args[1] .. '-0', 'digest', args[2], 'content', args[3])
  server.call('HSET', keys[1], 'number', number, 'minute', minute, 'count', count + 1)
  server.call('SADD', keys[3], args[6])
  server.call('PERSIST', keys[1])
  server.call('PERSIST', keys[2])
  return 1
end

-- Note that utterances are recorded; how many are not. Arguments: the last of them, its event, how
-- many recorded ones stay to be played back, the thread.
local function recorded(keys, args)
  local known = state(keys)
  if not known[1] then
    server.call('SREM', keys[3], args[4])
    return 0
  end
  local last = math.max(known[2], tonumber(args[1]))
  server.call('HSET', keys[1], 'recorded', last, 'seq', math.max(known[3], tonumber(args[2])))
  local first = last - tonumber(args[3]) + 1
  if first > 0 then
    server.call('XTRIM', keys[2], 'MINID', first .. '-0')
  end
  if last >= known[1] then
    server.call('SREM', keys[3], args[4])
    server.call('EXPIRE', keys[1], WEEK)
    server.call('EXPIRE', keys[2], WEEK)
  end
  return known[1] - last
end

server.register_function('gatepost_voice_open_1', open)
server.register_function('gatepost_voice_add_1', add)
server.register_function('gatepost_voice_recorded_1', recorded)
