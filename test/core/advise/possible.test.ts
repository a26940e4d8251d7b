/** Plans that a device cannot take are not offered. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../../src/analysis";
import { LEVERS } from "../../../src/core/advise/levers";
import { isPossible } from "../../../src/core/advise/possible";
import { findDevice } from "../../../src/core/hardware/devices";
import { memoryRuntime, uri } from "../../analysis/memory-runtime";

const CONFIG = [
  "model_name_or_path: Qwen/Qwen2.5-0.5B",
  "output_dir: out",
  "bf16: true",
  "per_device_train_batch_size: 32",
  "max_length: 2048",
  "learning_rate: 1.0e-5",
  "",
].join("\n");

const possibleOn = (name: string): ReadonlySet<string> => {
  const device = findDevice(name)?.device;
  assert.ok(device, name);
  return new Set(LEVERS.filter((lever) => isPossible(lever, device)).map(({ id }) => id));
};

describe("possible plans", () => {
  it("ask Apple silicon for no kernels of CUDA and Triton, and for no second memory", () => {
    const apple = possibleOn("Apple M3 Max 128GB");
    for (const id of ["8-bit-optimizer", "paged-8-bit-optimizer", "qlora", "fused-loss", "flash-attention"])
      assert.ok(!apple.has(id), id);
    for (const id of ["offload-optimizer", "offload-activations"]) assert.ok(!apple.has(id), id);
    for (const id of ["gradient-checkpointing", "adafactor", "lora"]) assert.ok(apple.has(id), id);
  });

  it("leave nothing out on NVIDIA's cards", () =>
    assert.equal(possibleOn("RTX 4090").size, new Set(LEVERS.map(({ id }) => id)).size));

  it("are what is offered", async () => {
    const analysis = await createAnalyzer(memoryRuntime({ "train.yaml": CONFIG })).analyse(uri("train.yaml"), {
      device: "Apple M3 24GB",
      plans: true,
    });
    const [run] = analysis.runs;
    assert.equal(run?.verdict, "does-not-fit");
    assert.ok(run.plans.length > 0);
    for (const { levers, needs = [] } of run.plans) assert.deepEqual(needs, [], levers.join());
  });
});
