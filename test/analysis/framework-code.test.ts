/**
 * Runs of frameworks with model code of their own, which was captured from them: each config was run by the framework's own
 * modules and loop on fake CUDA tensors whose storages were followed (`capture/truth/<framework>_receipts.py`).
 */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { rowsOf } from "../rows";
import { memoryRuntime, uri } from "./memory-runtime";

interface Row {
  readonly id: string;
  readonly config: string;
  /** `torch.cuda.max_memory_allocated` in bytes. */
  readonly allocated: number;
}

/** A config's run; torchtitan's are TOML, and comments have the number of ranks and the framework's release. */
async function runOf(config: string) {
  const ranks = /^# world (\d+)$/m.exec(config)?.[1];
  const [name, text] =
    ranks === undefined ? ["config.yaml", config] : ["config.toml", `# vramlens: gpu=H200 gpus=${ranks}\n${config}`];
  const release = /^# (litgpt) ([\d.]+)$/m.exec(config);
  const pins = release === null ? "" : `runs:\n  - libraries: { ${release[1]}: "${release[2]}" }\n`;
  const files = { [name]: text, ...(pins === "" ? {} : { ".vramlens.yaml": pins }) };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri(name), {})).runs;
  assert.ok(run);
  return run;
}

/** Share of runs that are told to a hundredth, and the furthest any is off. */
const SHARE = 0.95;
const CLOSE = 0.01;
const FURTHEST = 0.02;

describe("analysis: frameworks' own code", () => {
  for (const framework of ["torchtune", "torchtitan", "torchtitan-experts", "litgpt", "llm-foundry"])
    it(`${framework} allocates what its own loop does`, async () => {
      const rows = rowsOf<Row>(__dirname, `${framework}.jsonl`);
      const errors = await Promise.all(
        rows.map(async ({ id, config, allocated }) => {
          const run = await runOf(config);
          assert.ok(run.perDevice, id);
          assert.ok(!run.assumptions.some(({ id }) => id === "assume.own-code"), `${id}: stood in for`);
          const error = Math.abs(run.perDevice.allocatedPeakBytes / allocated - 1);
          assert.ok(error < FURTHEST, `${id}: ${(100 * error).toFixed(2)} %`);
          return error;
        }),
      );
      const close = errors.filter((error) => error <= CLOSE).length;
      assert.ok(close >= SHARE * rows.length, `${close} of ${rows.length} within ${100 * CLOSE} %`);
    });
});
