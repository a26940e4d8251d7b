/** What torchtitan's `fsdp_reshard_after_forward` makes of the last norm and the head (torchtitan/distributed/fsdp.py, apply_fsdp). */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const JOB = (policy: string) => `# vramlens: gpu=H100 gpus=8
[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 1
seq_len = 8192

[parallelism]
fsdp_reshard_after_forward = "${policy}"

[activation_checkpoint]
mode = "full"
`;

async function forwardPeak(policy: string): Promise<number> {
  const [run] = (await createAnalyzer(memoryRuntime({ "job.toml": JOB(policy) })).analyse(uri("job.toml"), {})).runs;
  assert.ok(run?.perDevice, run?.verdict);
  return run.perDevice.phases.find(({ phase }) => phase === "forward")?.peakBytes ?? 0;
}

/** Of Llama 3 8B in bfloat16. */
const HEAD_BYTES = 2 * 128_256 * 4096;

describe("analysis: the last norm and the head under FSDP", () => {
  it("stay gathered over the loss by default, and are let go of where torchtitan's policy is `always`", async () => {
    const [kept, freed] = [await forwardPeak("default"), await forwardPeak("always")];
    assert.ok(kept - freed > 0.99 * HEAD_BYTES, `${kept - freed}`);
  });
});
