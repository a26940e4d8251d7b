/**
 * Failures planted in PyTorch's own runs (`capture/truth/failures.py`): requests at which a smaller card would have ended, with
 * the stack that a traceback shows. What failed is known there, so that what is said of it can be held against it.
 */
import { strict as assert } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wantedOf } from "../../../src/analysis/explain/wanted";
import { segmentBytes } from "../../../src/core/allocator/segment";
import { type Allocation, allocationsLike } from "../../../src/core/matching/allocations";
import { type Simulation, simulate } from "../../../src/core/simulate";
import { failuresIn } from "../../../src/evidence/log/failures";
import { type Case, graphsOf, runOf } from "../../core/receipts/case";
import { rowsOf } from "../../rows";
import { unallocated } from "./wordings";

interface Planted {
  readonly case: Case;
  readonly bytes: number;
  readonly alive: number;
  readonly truth: { readonly op: string; readonly module: string; readonly phase: string };
  readonly frames: readonly (readonly [file: string, line: number, name: string, code: string])[];
}

const rows = rowsOf<Planted>(__dirname, "planted.jsonl");

/** As the allocator prints sizes (c10/core/Allocator.h, format_size). */
function printedBytes(bytes: number): string {
  return bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(2)} GiB` : `${(bytes / 2 ** 20).toFixed(2)} MiB`;
}

function logOf({ bytes, alive, frames }: Planted): string {
  const asked = segmentBytes(bytes);
  const message = unallocated({
    asked: printedBytes(asked),
    total: printedBytes(alive + asked / 2),
    free: printedBytes(asked / 3),
    process: printedBytes(alive + 2 ** 29),
    allocated: printedBytes(alive),
    pool: "11.00 MiB",
  });
  const traceback = frames.flatMap(([file, line, name, code]) => [
    `  File "${file.replace(/^~/, "/opt/env/lib/python3.11/site-packages")}", line ${line}, in ${name}`,
    `    ${code}`,
  ]);
  return ["Traceback (most recent call last):", ...traceback, message].join("\n");
}

const PARTS: Readonly<Record<string, readonly string[]>> = { step: ["optimizer"], forward: ["forward", "loss"] };

const simulations = new Map<string, Simulation>();

function simulationOf(of: Case): Simulation {
  const known = simulations.get(of.id);
  if (known !== undefined) return known;
  const result = simulate(runOf(of), graphsOf(of.model.model_type));
  assert.ok(result.ok, of.id);
  simulations.set(of.id, result.simulation);
  return result.simulation;
}

const bare = (operator: string): string => operator.replace(/^_foreach_/, "").replace(/_$/, "");
const starred = (path: string): string => path.replace(/^base_model\.model\./, "").replace(/\.\d+(?=\.|$)/g, ".*");

/** Whether an allocation is the one: its bytes, and its operator or its module. */
function isIt({ bytes, operator, scope }: Allocation, row: Planted): boolean {
  const { op, module } = row.truth;
  return bytes === row.bytes && (bare(operator) === bare(op) || (module !== "" && starred(scope) === starred(module)));
}

const outcomes = rows.map((row) => {
  const [failure] = failuresIn(logOf(row));
  assert.ok(failure);
  const wanted = wantedOf(failure);
  const likely = allocationsLike(simulationOf(row.case), wanted).filter(
    ({ phase }) => wanted.phases === null || wanted.phases.includes(phase),
  );
  const expected = PARTS[row.truth.phase] ?? [row.truth.phase];
  return {
    row,
    part: expected.includes(failure.part?.part ?? ""),
    first: likely[0] !== undefined && isIt(likely[0], row),
    listed: likely.some((one) => isIt(one, row)),
  };
});

const count = (name: "part" | "first" | "listed"): number => outcomes.filter((outcome) => outcome[name]).length;

describe("failures planted in PyTorch's own runs", () => {
  it("are in the part of the run that they were planted in", () => {
    assert.equal(count("part"), rows.length);
  });

  it("have the tensor among those of the size, and nearly always first", () => {
    assert.equal(count("listed"), rows.length);
    assert.ok(count("first") >= 0.9 * rows.length, `${count("first")} of ${rows.length}`);
  });

  it("have their figures on the page", () => {
    const path = join(__dirname, "../../../docs/out-of-memory.md");
    const families = new Set(rows.map((row) => row.case.model.model_type));
    const section = [
      "",
      "## Tensors",
      "",
      `${rows.length} failures planted in PyTorch's own runs of ${families.size} families (\`capture/truth/failures.py\`: full fine-tunes and adapters, packed`,
      `weights, autocast and none, checkpointing and none), each with its stack and the figures PyTorch would have printed: the part of`,
      `the run is right in ${count("part")}, the tensor that found no room is named first in ${count("first")} and is among those of the size in ${count("listed")}. Those that`,
      "are not first are requests of 1 to 10 MiB, all of which ask for 20 MiB, and tensors of one size that follow one another.",
      "",
    ].join("\n");
    const page = readFileSync(path, "utf8");
    const at = page.indexOf("\n## Tensors\n");
    const written = (at < 0 ? page : page.slice(0, at)) + section;
    if (process.env["UPDATE_DOCS"] === "1") writeFileSync(path, written);
    else assert.equal(page, written, "npm run generate writes it");
  });
});
