/**
 * The whole check: type-check, lint and format, build, unit tests, and the editor suite in a real VS Code.
 * Ends with `N passed, N failed` over everything; the exit status is nonzero when anything failed.
 *
 * usage: npm test [-- --no-vscode]
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ensureInstalled, root, run, tool } from "./process.mjs";

await ensureInstalled();

const withEditor = !process.argv.includes("--no-vscode");
const total = { passed: 0, failed: 0, skipped: 0 };

function add({ passed = 0, failed = 0, skipped = 0 }) {
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
}

/** A check that passes or fails as a whole; what it printed is shown when it failed. */
async function check(name, command, args) {
  const { status, output, seconds } = await run(command, args, { quiet: true });
  console.log(`${status === 0 ? "passed" : "FAILED"}  ${name} (${seconds.toFixed(1)} s)`);
  if (status !== 0) console.log(output.trimEnd());
  add(status === 0 ? { passed: 1 } : { failed: 1 });
  return status === 0;
}

/** Sum of the numbers a pattern finds. */
function count(output, pattern) {
  return [...output.matchAll(pattern)].reduce((sum, [, digits]) => sum + Number(digits), 0);
}

/** Unit tests; mocha says how many, and a run that says nothing has failed. */
async function unitTests() {
  const [node, mocha] = tool("mocha/bin/mocha.js");
  const { status, output } = await run(node, [mocha, "--parallel", "--jobs", "2"]);
  const passed = count(output, /^\s*(\d+) passing\b/gm);
  const failed = count(output, /^\s*(\d+) failing\b/gm);
  const broken = failed === 0 && (status !== 0 || passed === 0);
  add({ passed, failed: failed + (broken ? 1 : 0), skipped: count(output, /^\s*(\d+) pending\b/gm) });
}

/** The editor suite prints its own `N passed, N failed, N skipped`. */
async function editorTests() {
  if (!withEditor) {
    console.log("skipped  real VS Code (--no-vscode)");
    add({ skipped: 1 });
    return;
  }
  const { status, output } = await run(process.execPath, [join("test", "vscode", "run.mjs")]);
  const summary = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm.exec(output);
  const [passed, failed, skipped] = (summary ?? []).slice(1).map((digits) => Number(digits ?? 0));
  const broken = summary === null || (status !== 0 && failed === 0);
  add({ passed: passed ?? 0, failed: (failed ?? 0) + (broken ? 1 : 0), skipped: skipped ?? 0 });
}

const projects = ["tsconfig.json", join("webview-ui", "tsconfig.json")].filter((file) => existsSync(join(root, file)));
const [node, tsc] = tool("typescript/bin/tsc");
const [, biome] = tool("@biomejs/biome/bin/biome");
const checks = [
  ...projects.map((file) => [`type-check ${file}`, [tsc, "--noEmit", "-p", file]]),
  ["lint and format", [biome, "ci", "--colors=off", "."]],
  ["lint and format of Python", [join("scripts", "python.mjs"), "--check"]],
  ["patterns take linear time", [join("scripts", "patterns.mjs"), "--check"]],
];
// The build takes as long as all other checks, one after the other: beside them on a second core.
const building = check("build", node, [join("scripts", "build.mjs")]);
for (const [name, args] of checks) await check(name, node, args);
const built = await building;
await unitTests();
if (built) await editorTests();

console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ""}`);
process.exit(total.failed === 0 ? 0 : 1);
