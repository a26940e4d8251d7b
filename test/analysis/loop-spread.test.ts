/** Loops of one's own that copy their model to several GPUs, or spread it over them, and say nothing of how many there are. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const IMPORTS =
  "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\nfrom transformers import AutoModelForCausalLM\n" +
  "from torch.nn.parallel import DistributedDataParallel as DDP\n" +
  "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecisionPolicy, fully_shard\n";
const FULLY = "for layer in model.model.layers:\n    fully_shard(layer)\nfully_shard(model)\n";
const PINS = "runs:\n  - match: '*'\n    sequence_length: 64\n    device: { name: RTX 4090 }\n";

function loop(wrap: string): string {
  return (
    `${IMPORTS}model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-1.5B", dtype=torch.float32)\n${wrap}` +
    "optimizer = torch.optim.AdamW(model.parameters())\nfor batch in DataLoader(d, batch_size=2):\n    loss = model(**batch).loss\n" +
    "    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
  );
}

async function runOf(wrap: string, beside: Readonly<Record<string, string>> = {}) {
  const files = { "train.py": loop(wrap), ".vramlens.yaml": PINS, ...beside };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("train.py"), {})).runs;
  assert.ok(run?.perDevice, run?.verdict);
  return run;
}

describe("analysis: loops that spread their model", () => {
  for (const [name, wrap] of [
    ["fully_shard", FULLY],
    ["FullyShardedDataParallel", "model = FSDP(model)\n"],
    ["DistributedDataParallel", "model = DDP(model, device_ids=[0])\n"],
  ] as const)
    it(`ask how many GPUs there are: ${name}`, async () => {
      const run = await runOf(wrap);
      assert.equal(run.verdict, "unknown");
      const said = run.assumptions.find(({ id }) => id === "assume.ranks-open");
      assert.ok(said?.what.includes(name), said?.what);
      assert.ok(run.findings.some(({ code }) => code === "gpu-count-open"));
    });

  it("are for one GPU where a condition that is not known decides, or nothing spreads", async () => {
    assert.equal((await runOf("")).verdict, "does-not-fit");
    assert.equal((await runOf("if world > 1:\n    model = DDP(model)\n")).verdict, "does-not-fit");
  });

  it("are sharded over the ranks that a launcher starts", async () => {
    const launch = { "run.sh": "torchrun --nproc_per_node 4 train.py\n" };
    const [alone, four] = [await runOf(""), await runOf(FULLY, launch)];
    assert.equal(four.settings.find(({ name }) => name === "world_size")?.value, 4);
    assert.equal(four.verdict, "fits");
    assert.ok(four.perDevice!.allocatedPeakBytes < 0.5 * alone.perDevice!.allocatedPeakBytes);
  });

  it("have what torch's calls are told", async () => {
    const pins = PINS.replace("RTX 4090", "RTX 4090, count: 4");
    const fsdp = async (wrap: string) =>
      (await resolveFiles({ "train.py": loop(wrap), ".vramlens.yaml": pins }, "train.py")).run;
    const plain = (await fsdp(FULLY))?.parallel.fsdp;
    assert.deepEqual(
      [
        plain?.version,
        plain?.groups,
        plain?.rootStays,
        plain?.reducesEach,
        plain?.autocastsAround,
        plain?.reshardAfterForward,
      ],
      [2, "layers", true, true, true, true],
    );
    const told =
      "policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)\n" +
      FULLY.replaceAll(")\n", ", mp_policy=policy, reshard_after_forward=False)\n") +
      "model.set_requires_gradient_sync(False)\n";
    const run = await fsdp(told);
    const { fsdp: spec } = run?.parallel ?? {};
    assert.equal(run?.autocast, "bfloat16");
    assert.deepEqual(
      [spec?.reduceDtype, spec?.reshardAfterForward, spec?.reducesEach, spec?.autocastsAround],
      ["float32", false, undefined, undefined],
    );
    const flat = (await fsdp("model = FSDP(model)\n"))?.parallel.fsdp;
    assert.deepEqual([flat?.version, flat?.flatOptimizer, flat?.backwardPrefetch], [1, true, "before"]);
  });

  it("say what DataParallel's first GPU holds on top", async () => {
    const run = await runOf("model = nn.DataParallel(model)\n");
    assert.ok(run.assumptions.some(({ id }) => id === "assume.replicas"));
    assert.ok(!(await runOf("")).assumptions.some(({ id }) => id === "assume.replicas"));
  });
});

describe("analysis: hooks that compress gradients", () => {
  const pins = PINS.replace("RTX 4090", "RTX 4090, count: 4");
  const hooked = async (register: string) => {
    const files = { "train.py": loop(`model = DDP(model)\n${register}`), ".vramlens.yaml": pins };
    const { run, settings } = await resolveFiles(files, "train.py");
    return { compression: run?.parallel.ddp?.compression, settings };
  };

  it("are followed by their names and by PowerSGD's state", async () => {
    const state =
      "state = powerSGD.PowerSGDState(process_group=None, matrix_approximation_rank=2, use_error_feedback=False)\n";
    const { compression } = await hooked(`${state}model.register_comm_hook(state, powerSGD.powerSGD_hook)\n`);
    assert.deepEqual(compression, { rank: 2, feedback: false });
    assert.deepEqual((await hooked("model.register_comm_hook(None, default_hooks.fp16_compress_hook)\n")).compression, {
      casts: "float16",
    });
    assert.deepEqual((await hooked("model.register_comm_hook(state, powerSGD_hook)\n")).compression, { rank: 1 });
  });

  it("are named as not counted where they are others", async () => {
    assert.equal((await hooked("model.register_comm_hook(state, batched_powerSGD_hook)\n")).compression, undefined);
    const run = await runOf("model = DDP(model)\nmodel.register_comm_hook(state, batched_powerSGD_hook)\n");
    assert.ok(run.assumptions.some(({ what }) => what.includes("register_comm_hook")));
    const known = await runOf("model = DDP(model)\nmodel.register_comm_hook(None, fp16_compress_hook)\n");
    assert.ok(!known.assumptions.some(({ what }) => what.includes("register_comm_hook")));
  });
});
