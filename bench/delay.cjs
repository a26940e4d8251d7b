// Loaded into a process before its program. When asked by SIGUSR2 it tells in milliseconds the longest gap of its event loop, and the
// most processor time between two turns of it: what the gap is where nothing else runs on the machine (Linux says so alone).
const { isMainThread } = require("node:worker_threads");
const { readFileSync } = require("node:fs");
const { monitorEventLoopDelay } = require("node:perf_hooks");

/** Processor time of this thread. */
function spent() {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;
  } catch {
    return Number.NaN;
  }
}

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let most = 0;
  let before = spent();
  const turn = () => {
    const now = spent();
    most = Math.max(most, now - before);
    before = now;
    setTimeout(turn, 1).unref();
  };
  turn();
  process.on("SIGUSR2", () => {
    process.stderr.write(`gap ${(delay.max / 1e6).toFixed(1)} own ${most.toFixed(1)}\n`);
    delay.reset();
    most = 0;
  });
}
