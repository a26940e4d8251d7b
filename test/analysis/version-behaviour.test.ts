/** Behaviour that changed between releases follows the pinned one, and the hover names it. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { TrainingRun } from "../../src/core/training/run";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const PINS = `runs:
  - match: "*.yaml"
    model: ./model
    sequence_length: 64
    adapter: { type: lora, r: 8, target_modules: [q_proj] }
`;

function files(requirements: string): Record<string, string> {
  return {
    "train.yaml":
      "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\ngradient_checkpointing: true\nmax_steps: 10\n",
    ".vramlens.yaml": PINS,
    "requirements.txt": requirements,
    "model/config.json": JSON.stringify({ ...TINY_LLAMA, dtype: "bfloat16" }),
  };
}

async function runWith(requirements: string): Promise<TrainingRun> {
  const { run } = await resolveFiles(files(requirements), "train.yaml");
  assert.ok(run);
  return run;
}

const CASES: readonly [
  what: string,
  before: string,
  after: string,
  of: (run: TrainingRun) => unknown,
  unknown,
  unknown,
][] = [
  ["zeroed gradients", "torch==1.13.1\n", "torch==2.0.0\n", (run) => run.quirks?.keepsGradients === true, true, false],
  [
    "what softmax keeps",
    "torch==1.10.2\n",
    "torch==1.11.0\n",
    (run) => run.quirks?.keepsSoftmaxInputs === true,
    true,
    false,
  ],
  [
    "the optimizer's loop",
    "torch==1.13.1\n",
    "torch==2.3.0\n",
    (run) => run.optimizer.args["foreach"] ?? null,
    "False",
    null,
  ],
  [
    "emptying the cache in every step",
    "transformers==4.41.2\n",
    "transformers==4.42.0\n",
    (run) => run.emptyCacheSteps ?? null,
    1,
    null,
  ],
  ["fused attention by torch", "torch==2.0.1\n", "torch==2.1.2\n", (run) => run.attention, "eager", "sdpa"],
  ["fused attention", "transformers==4.35.2\n", "transformers==4.36.0\n", (run) => run.attention, "eager", "sdpa"],
  [
    "the dtype that weights are loaded in",
    "transformers==4.57.1\n",
    "transformers==5.0.0\n",
    (run) => run.loadDtype,
    "float32",
    "bfloat16",
  ],
  [
    "the kind of checkpointing",
    "transformers==4.57.1\n",
    "transformers==5.0.0\n",
    (run) => run.checkpointing?.useReentrant,
    true,
    false,
  ],
  [
    "the optimizer",
    "transformers==4.57.1\ntorch==2.7.0\n",
    "transformers==5.0.0\ntorch==2.9.0\n",
    (run) => run.optimizer.name,
    "adamw_torch",
    "adamw_torch_fused",
  ],
  [
    "the older adapters' dtype",
    "peft==0.6.2\n",
    "peft==0.7.1\n",
    (run) => run.adapter?.autocastAdapterDtype,
    true,
    false,
  ],
  ["the adapters' dtype", "peft==0.11.1\n", "peft==0.12.0\n", (run) => run.adapter?.autocastAdapterDtype, false, true],
];

describe("analysis: what a version decides", () => {
  for (const [what, before, after, of, then, now] of CASES)
    it(what, async () => {
      assert.deepEqual([of(await runWith(before)), of(await runWith(after))], [then, now]);
    });

  it("is named in the hover", async () => {
    const analysis = await createAnalyzer(memoryRuntime(files("transformers==4.35.2\ntorch==2.0.1\n"))).analyse(
      uri("train.yaml"),
      {},
    );
    const markdown = (await analysis.hover(1, 1))?.markdown ?? "";
    assert.match(markdown, /transformers 4\.35\.2/);
    assert.match(markdown, /torch 2\.0\.1/);
  });
});
