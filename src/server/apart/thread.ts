/** Entry of the analysis thread in Node: starts the analysis program, compiled where it ran before, and gives memory back when it rests. */
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort } from "node:worker_threads";
import { compiledFolder, startCompiled } from "../../host/compiled";

/** Quiet after which a thread rests: nobody is typing; milliseconds. */
const QUIET = 5000;

/** What an estimate leaves behind is a third of the thread's memory, and V8 lets it lie until there is more of it. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

const atRest: (() => void)[] = [];
startCompiled(join(__dirname, "analysis.js"), compiledFolder(process.env, process.platform), (write) =>
  atRest.push(write),
);
const rest = setTimeout(() => {
  for (const task of atRest.splice(0)) task();
  collectGarbage();
}, QUIET).unref();
parentPort?.on("message", () => rest.refresh());
