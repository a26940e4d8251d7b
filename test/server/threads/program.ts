/**
 * Entry of a thread whose analyzer does what a document says: `stop` works until nobody wants the answer, `hang` works for ever,
 * `die` ends the thread, `once` ends it the first time; everything else is a run of so many GiB.
 */
import { existsSync, writeFileSync } from "node:fs";
import { isMainThread, parentPort } from "node:worker_threads";
import type { CreateAnalyzer } from "../../../src/analysis/analyzer";
import { Stopped } from "../../../src/analysis/estimate/stopped";
import { programOf } from "../../../src/server/apart/errands";
import { serveAnalyses } from "../../../src/server/apart/serve";
import { fakeAnalyzer } from "../fake";

const createAnalyzer: CreateAnalyzer = (runtime) => {
  const fake = fakeAnalyzer({ analysed: [], options: [], gate: undefined })(runtime);
  return {
    ...fake,
    analyse: async (uri, options) => {
      const text = (await runtime.files.readText(uri)) ?? "";
      if (text.includes("stop: yes")) {
        while (options.stopped?.() !== true);
        throw new Stopped();
      }
      if (text.includes("hang: yes")) for (;;);
      if (text.includes("die: yes")) process.exit(1);
      const flag = /once: (\S+)/.exec(text)?.[1];
      if (flag !== undefined && !existsSync(flag)) {
        writeFileSync(flag, "");
        process.exit(1);
      }
      return fake.analyse(uri, options);
    },
  };
};

const createProgram = programOf(createAnalyzer);
export const loaded = async () => ({ createProgram });

const port = parentPort;
if (!isMainThread && port !== null)
  serveAnalyses(
    { post: (message) => port.postMessage(message), listen: (handler) => port.on("message", handler) },
    createAnalyzer,
  );
