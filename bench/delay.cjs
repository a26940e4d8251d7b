// Loaded into a process before its program: tells the longest gap of its event loop, in milliseconds, when asked by SIGUSR2.
const { isMainThread } = require("node:worker_threads");
const { monitorEventLoopDelay } = require("node:perf_hooks");

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  process.on("SIGUSR2", () => {
    process.stderr.write(`gap ${(delay.max / 1e6).toFixed(1)}\n`);
    delay.reset();
  });
}
