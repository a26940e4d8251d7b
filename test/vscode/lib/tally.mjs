/** Counts tests as they end and closes with the line that `npm test` adds up. */
const total = { passed: 0, failed: 0, skipped: 0 };

/** A text below a line that announces it. */
export function indented(text) {
  return String(text).replace(/^/gm, "    ");
}

export function record(name, error, seconds) {
  if (error === null) total.passed++;
  else total.failed++;
  console.log(`${error === null ? "passed" : "FAILED"}  ${name} (${seconds.toFixed(1)} s)`);
  if (error !== null) console.log(indented(error));
}

export function skip(why) {
  total.skipped++;
  console.log(`skipped  ${why}`);
}

export function finish() {
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
  process.exit(total.failed === 0 ? 0 : 1);
}
