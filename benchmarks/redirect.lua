-- What wrk sends: the codes of one file, each with one of the heads of another, from a place on.
-- The requests are made before: making one of 700 bytes takes Lua half as long as all the rest that
-- wrk does for it. `once` asks for every code and ends the run; what connections ask until it has
-- ended repeats the last code.

local MOST = 250000 -- more requests than a measurement of some seconds sends

local codes, heads, ready = {}, {}, {}
local place, asked, once = 0, -2, false -- wrk takes one request to look at, and does not send it

local function request_at(index)
  return "GET /" .. codes[index % #codes + 1] .. heads[index % #heads + 1]
end

function init(args)
  for line in io.lines(args[1]) do
    codes[#codes + 1] = line
  end
  local file = assert(io.open(args[2], "rb"))
  for text in file:read("*a"):gmatch("(.-\r\n\r\n)") do
    heads[#heads + 1] = text
  end
  file:close()
  once = args[4] == "once"
  for index = 1, once and 0 or math.min(#codes, MOST) do
    ready[index] = request_at(args[3] + index)
  end
end

local function ask_once()
  asked = asked + 1
  if asked == #codes then
    io.stderr:write("all asked\n")
    io.stderr:flush()
    wrk.thread:stop()
  end
  return request_at(math.max(0, math.min(asked, #codes - 1)))
end

function request()
  if once then
    return ask_once()
  end
  place = place % #ready + 1
  return ready[place]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"requests": %d, "micros": %d, "refused": %d, "broken": %d, "p50": %d, "p99": %d}',
    summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
