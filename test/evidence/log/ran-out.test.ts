/**
 * Scripts that ran out of memory on cards too small for them (`capture/truth/ran_out.py`), each with its own traceback and the figures of
 * the allocator, the script beside. What failed is known there.
 */
import { strict as assert } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../../src/analysis";
import type { Explanation } from "../../../src/analysis/explain/explain";
import { explainLog } from "../../../src/analysis/explain/log";
import { memoryRuntime, uri } from "../../analysis/memory-runtime";
import { rowsOf } from "../../rows";

interface Ran {
  readonly id: string;
  readonly files: Readonly<Record<string, string>>;
  readonly phase: string;
  readonly module: string;
  readonly op: string;
  readonly bytes: number;
  readonly ranks: number;
  readonly log: string;
}

const rows = rowsOf<Ran>(__dirname, "ran-out.jsonl");

/** A loss inside of a model is part of its forward. */
const PARTS: Readonly<Record<string, readonly string[]>> = { forward: ["forward", "loss"], loss: ["loss", "forward"] };

const bare = (operator: string): string => operator.replace(/^_foreach_/, "").replace(/_$/, "");
const starred = (path: string): string =>
  path.replace(/^(?:module\.|_fsdp_wrapped_module\.)?(?:base_model\.model\.)?/, "").replace(/\.\d+(?=\.|$)/g, ".*");

/** Whether a tensor is the one: its bytes, and its operator or its module; weights and states by what they are. */
function isIt({ tensor }: Explanation, { op, module, bytes, phase }: Ran): boolean {
  if (tensor?.bytes !== bytes) return false;
  if (phase === "load" && tensor.kind === "weights") return true;
  if (phase === "optimizer" && tensor.kind === "optimizer") return true;
  return bare(tensor.operator) === bare(op) || (module !== "" && starred(tensor.scope) === starred(module));
}

async function explained(row: Ran): Promise<Explanation> {
  const analyzer = createAnalyzer(memoryRuntime(row.files));
  const options = { configs: [uri("train.py")], ...(row.ranks > 1 ? { deviceCount: row.ranks } : {}) };
  const [found] = await explainLog(row.log, options, (of, more) => analyzer.analyse(of, { ...more, plans: false }));
  assert.ok(found, row.id);
  return found;
}

describe("scripts that ran out of memory", () => {
  const outcomes: { part: boolean; tensor: boolean }[] = [];

  for (const row of rows)
    it(row.id, async () => {
      const found = await explained(row);
      const part = (PARTS[row.phase] ?? [row.phase]).includes(found.part ?? "");
      const tensor = isIt(found, row);
      outcomes.push({ part, tensor });
      if (process.env["SHOW"] === "1" && !(part && tensor))
        console.log(row.phase, row.op, row.module, row.bytes, "said:", found.part, found.tensor ?? found.tensorSaid);
    });

  const count = (name: "part" | "tensor"): number => outcomes.filter((outcome) => outcome[name]).length;

  it("are in the part of the run where they ended", () => {
    assert.equal(count("part"), rows.length);
  });

  it("mostly have the tensor named", () => {
    assert.ok(count("tensor") >= 0.8 * rows.length, `${count("tensor")} of ${rows.length}`);
  });

  it("have their figures on the page", () => {
    const path = join(__dirname, "../../../docs/out-of-memory.md");
    const several = rows.filter(({ ranks }) => ranks > 1).length;
    const section = [
      "",
      "## Runs",
      "",
      `${rows.length} scripts run on cards that are not there until the allocator has no room (\`capture/truth/ran_out.py\`: the Trainer, TRL, peft,`,
      `accelerate and plain loops, ${several} as one of several ranks), each with the traceback and the figures of its own end, in the wordings of 2.0,`,
      `2.1 and 2.5, the script beside: the part of the run is right in ${count("part")}, the tensor that found no room is named in ${count("tensor")}.`,
      "",
    ].join("\n");
    const page = readFileSync(path, "utf8");
    const [at, end] = [page.indexOf("\n## Runs\n"), page.indexOf("\n## Tensors\n")];
    const written = page.slice(0, at < 0 ? end : at) + section + page.slice(end);
    if (process.env["UPDATE_DOCS"] === "1") writeFileSync(path, written);
    else assert.equal(page, written, "npm run generate writes it");
  });
});
