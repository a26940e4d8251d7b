/**
 * What `vram-lens explain` says of runs that `ran_out.py` had run out of memory, beside what is known of them.
 *
 * usage: node --import tsx capture/truth/ran-out.ts FOLDER [--wrong]
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { explainLog } from "../../src/analysis/explain/log";
import { createNodeRuntime, uriOf } from "../../src/host/node";

interface Truth {
  readonly phase: string;
  readonly module: string;
  readonly op: string;
  readonly bytes: number;
  readonly alive: number;
  readonly ranks: number;
}

const PARTS: Readonly<Record<string, readonly string[]>> = { forward: ["forward", "loss"], loss: ["loss", "forward"] };

const bare = (operator: string): string => operator.replace(/^_foreach_/, "").replace(/_$/, "");
const starred = (path: string): string =>
  path.replace(/^(?:module\.|_fsdp_wrapped_module\.)?(?:base_model\.model\.)?/, "").replace(/\.\d+(?=\.|$)/g, ".*");

async function main(folder: string): Promise<void> {
  const count = { all: 0, part: 0, tensor: 0, bytes: 0 };
  for (const name of readdirSync(folder).toSorted()) {
    const at = join(folder, name);
    if (!existsSync(join(at, "truth.json"))) continue;
    const truth = JSON.parse(readFileSync(join(at, "truth.json"), "utf8")) as Truth;
    const log = readFileSync(join(at, "run.log"), "utf8");
    const runtime = createNodeRuntime({ workspaceFolders: [at], packageDirectory: __dirname, env: {} });
    const analyzer = createAnalyzer(runtime);
    const configs = [uriOf(join(at, "train.py"))];
    const options = { configs, ...(truth.ranks > 1 ? { deviceCount: truth.ranks } : {}) };
    const [found] = await explainLog(log, options, (uri, more) => analyzer.analyse(uri, more));
    const { tensor } = found ?? { tensor: null };
    const part = (PARTS[truth.phase] ?? [truth.phase]).includes(found?.part ?? "");
    const bytes = tensor?.bytes === truth.bytes;
    const place = truth.module === "" || starred(tensor?.scope ?? "") === starred(truth.module);
    // Weights and states are told by what they are: an optimizer's `zeros` is the estimate's `zeros_like`.
    const isState = (tensor?.kind === "weights" && truth.phase === "load") || (tensor?.kind === "optimizer" && truth.phase === "optimizer");
    const right = bytes && (isState || bare(tensor?.operator ?? "") === bare(truth.op) || (truth.module !== "" && place));
    count.all++;
    if (part) count.part++;
    if (bytes) count.bytes++;
    if (right) count.tensor++;
    const said = tensor ? `${tensor.phase} ${tensor.operator} ${tensor.scope} ${tensor.bytes}` : (found?.tensorSaid ?? []).join(" ");
    if (!part || !right || !process.argv.includes("--wrong"))
      console.log(
        `${name}: ${part ? "" : `PART ${found?.part} `}${right ? "right" : bytes ? "BYTES ONLY" : "WRONG"}: ${truth.phase} ${truth.op} ${truth.module} ${truth.bytes}; said: ${said}`,
      );
  }
  console.log(`${count.all} runs: the part right in ${count.part}, the tensor in ${count.tensor} (its bytes in ${count.bytes}).`);
}

void main(process.argv[2] ?? ".verify/ran-out");
