/** What a real run left behind, broken: receipts, logs, pickled snapshots, traces, graphs of somebody's own, notebooks. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ownGraphs } from "../../src/core/graph/own";
import { failuresIn } from "../../src/evidence/log/failures";
import { readOthers } from "../../src/evidence/receipts/others";
import { readReceipt } from "../../src/evidence/receipts/read";
import { readProfile } from "../../src/evidence/snapshot/profile";
import { readRecording } from "../../src/evidence/snapshot/read";
import { summarise } from "../../src/evidence/snapshot/summary";
import { parseDocument } from "../../src/formats/parse";
import type { LocatedNode } from "../../src/syntax/tree";

const HERE = __dirname;
const ESC = "\u001b";

/** Texts that act where they are shown, names that objects have, numbers that are none. */
export const HOSTILE: readonly string[] = [
  `${ESC}]52;c;aGk=\u0007${ESC}]8;;http://evil\u0007x`,
  "![p](https://evil/p.png) <img src=x> [l](command:evil)",
  "a`\n\n# [l](command:evil)\n",
  "__proto__",
  "constructor",
  "2147483648",
  "1e308",
  "NaN",
  "-1",
  "null",
  "[".repeat(5000),
  "9".repeat(400),
];

/** The page's own example. */
const RECEIPT = (
  /```json\n([\s\S]*?)```/.exec(readFileSync(join(HERE, "../../docs/receipts.md"), "utf8"))?.[1] ?? ""
).trim();

const METRICS = JSON.stringify({
  before_init_mem_gpu: 1_000_000,
  init_mem_gpu_alloc_delta: 2_000_000,
  init_mem_gpu_peaked_delta: 3_000_000,
  train_mem_gpu_alloc_delta: 4_000_000,
  train_mem_gpu_peaked_delta: 5_000_000,
});

const LOG = `Traceback (most recent call last):
  File "/w/train.py", line 12, in <module>
    trainer.train()
  File "/v/torch/autograd/graph.py", line 825, in _engine_run_backward
    return Variable._execution_engine.run_backward(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 22.64 GiB memory in use. Of the allocated memory 20.10 GiB is allocated by PyTorch, and 1.20 GiB is reserved by PyTorch but unallocated.
`;

const PROFILE = JSON.stringify({
  traceEvents: [
    {
      ph: "i",
      name: "[memory]",
      ts: 1,
      args: { Addr: 5, Bytes: 512, "Total Allocated": 512, "Device Id": 0, "Device Type": 1 },
    },
    {
      ph: "i",
      name: "[memory]",
      ts: 2,
      args: { Addr: 5, Bytes: -512, "Total Allocated": 0, "Device Id": 0, "Device Type": 1 },
    },
    { ph: "X", name: "aten::mm", ts: 0, dur: 4, args: { "External id": 1 } },
  ],
});

const NOTEBOOK = JSON.stringify(
  {
    cells: [
      { cell_type: "markdown", metadata: {}, source: ["# Training\n"] },
      {
        cell_type: "code",
        execution_count: 1,
        metadata: {},
        outputs: [{ output_type: "stream", name: "stdout", text: ["ok\n"] }],
        source: ["%pip install trl\n", "batch = 4\n", "!accelerate launch train.py --bs {batch} \\\n", "  --bf16\n"],
      },
      {
        cell_type: "code",
        execution_count: null,
        metadata: {},
        outputs: [],
        source: "%%bash\ntorchrun --nproc_per_node 8 train.py --lr 1e-5\n",
      },
      {
        cell_type: "code",
        execution_count: 2,
        metadata: {},
        outputs: [],
        source: [
          "from transformers import TrainingArguments\n",
          "args = TrainingArguments('o', per_device_train_batch_size=batch, bf16=True)\n",
        ],
      },
    ],
    metadata: { kernelspec: { display_name: "Python 3", language: "python", name: "python3" } },
    nbformat: 4,
    nbformat_minor: 5,
  },
  null,
  1,
);

/** What stands where in a notebook lies in its text. */
function placed(notebook: string): void {
  const inside = (node: LocatedNode | null): void => {
    if (node === null) return;
    if (node.start < 0 || node.end > notebook.length || node.start > node.end)
      throw new RangeError(`${node.start} to ${node.end} of ${notebook.length}`);
    if (node.kind === "map") for (const { value } of node.entries) inside(value);
    if (node.kind === "list") for (const item of node.items) inside(item);
  };
  const parsed = parseDocument("file:///w/train.ipynb", notebook)?.parsed;
  inside(parsed?.root ?? null);
  for (const call of parsed?.python?.calls ?? []) inside(call.keywords);
}

/** One kind of file: a good one, and what reads it. */
interface Kind {
  readonly good: Uint8Array;
  readonly read: (bytes: Uint8Array) => unknown;
}

function text(read: (text: string) => unknown): Kind["read"] {
  return (bytes) => read(new TextDecoder().decode(bytes));
}

function bytesOf(path: string): Uint8Array {
  return new Uint8Array(readFileSync(join(HERE, path)));
}

function recorded(bytes: Uint8Array): unknown {
  const read = readRecording(bytes);
  return "recording" in read ? summarise(read.recording) : read;
}

export const KINDS: Readonly<Record<string, Kind>> = {
  "a receipt": { good: new TextEncoder().encode(RECEIPT), read: text(readReceipt) },
  "the Trainer's metrics": { good: new TextEncoder().encode(METRICS), read: text(readOthers) },
  "a log": { good: new TextEncoder().encode(LOG), read: text(failuresIn) },
  "a profiler's trace": { good: new TextEncoder().encode(PROFILE), read: text(readProfile) },
  "a pickled snapshot": { good: bytesOf("../evidence/snapshot/step.pickle"), read: recorded },
  "a notebook": { good: new TextEncoder().encode(NOTEBOOK), read: text(placed) },
  "a graph of one's own": { good: bytesOf("../analysis/own/.vramlens/graphs/Reader.json"), read: text(ownGraphs) },
};

/** Numbers spread over 0 to `most`, the same at every run. */
function drawing(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * most);
  };
}

/** A good file cut short, with bytes changed, with a part twice, or with something hostile in the place of a value. */
export function broken(good: Uint8Array, seed: number): Uint8Array {
  const draw = drawing(seed);
  const at = draw(good.length);
  const to = Math.min(good.length, at + 1 + draw(64));
  switch (seed % 4) {
    case 0:
      return good.slice(0, at);
    case 1: {
      const changed = good.slice();
      for (let k = 0; k < 1 + draw(8); k++) changed[draw(good.length)] = draw(256);
      return changed;
    }
    case 2:
      return Uint8Array.from([...good.subarray(0, to), ...good.subarray(at)]);
    default: {
      // In place of a word or number, so that what stands around it is still read.
      const whole = new TextDecoder("latin1").decode(good);
      const values = [...whole.slice(at, at + 4000).matchAll(/"[^"\n]{0,80}"|\d{1,20}/g)];
      const found = values[draw(Math.max(1, values.length))];
      const value = HOSTILE[draw(HOSTILE.length)] ?? "";
      if (found === undefined) return good.slice(0, at);
      const start = at + found.index;
      const written = draw(2) === 0 ? value : JSON.stringify(value);
      return Uint8Array.from(
        `${whole.slice(0, start)}${written}${whole.slice(start + found[0].length)}`,
        (sign) => sign.charCodeAt(0) & 255,
      );
    }
  }
}

/** What reading one broken file comes to: how long it took, and what it threw. */
export function attacked(kind: Kind, seed: number): { readonly milliseconds: number; readonly fault: string | null } {
  const bytes = broken(kind.good, seed);
  const started = performance.now();
  let fault: string | null = null;
  try {
    kind.read(bytes);
  } catch (error) {
    fault = `${seed}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  }
  return { milliseconds: performance.now() - started, fault };
}
