/** What the allocator's environment variable says. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, TINY_LLAMA, uri } from "../analysis/memory-runtime";

async function reserved(environment: string): Promise<{ allocated: number; reserved: number }> {
  const runtime = memoryRuntime({
    "model/config.json": JSON.stringify(TINY_LLAMA),
    ".vramlens.yaml": "defaults:\n  sequence_length: 512\n",
    "train.sh": `${environment} python run_clm.py --model_name_or_path ./model --output_dir out --do_train --per_device_train_batch_size 5\n`,
  });
  const [run] = (await createAnalyzer(runtime).analyse(uri("train.sh"), {})).runs;
  assert.ok(run?.perDevice);
  return { allocated: run.perDevice.allocatedPeakBytes, reserved: run.perDevice.reservedPeakBytes };
}

describe("PYTORCH_CUDA_ALLOC_CONF", () => {
  it("rounds sizes up, keeps large blocks whole, and leaves the rest as it is", async () => {
    const plain = await reserved("");
    assert.deepEqual(await reserved("PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.8"), plain);
    const rounded = await reserved("PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:2");
    assert.ok(rounded.allocated > plain.allocated);
    const listed = await reserved("PYTORCH_ALLOC_CONF='roundup_power2_divisions:[64:8,256:4,>:2]'");
    assert.equal(listed.allocated, rounded.allocated);
    const whole = await reserved("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:21");
    assert.equal(whole.allocated, plain.allocated);
  });
});
