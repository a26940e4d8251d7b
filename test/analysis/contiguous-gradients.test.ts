/** What the analysis makes of DeepSpeed's options: gradients of stage 3 that lie in no bucket. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

describe("analysis: DeepSpeed's gradients", () => {
  it("are in a bucket under stage 3 only where gradients are contiguous, with the optimizer on the host, too", async () => {
    const allocated = async (contiguous: boolean): Promise<number> => {
      const zero = {
        stage: 3,
        contiguous_gradients: contiguous,
        reduce_bucket_size: 10 ** 8,
        offload_optimizer: { device: "cpu" },
      };
      const files = {
        "ds.json": JSON.stringify({ zero_optimization: zero, bf16: { enabled: true } }),
        "run.sh":
          "deepspeed --num_gpus 4 train.py --model_name_or_path gpt2 --output_dir o --per_device_train_batch_size 1 --bf16 True --max_seq_length 64 --deepspeed ds.json\n",
      };
      const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("run.sh"), {})).runs;
      return run?.perDevice?.allocatedPeakBytes ?? 0;
    };
    // The bucket is in half precision (deepspeed/runtime/zero/stage3.py, `__setup_for_real_optimizer`).
    assert.ok((await allocated(true)) - (await allocated(false)) > 1.5 * 10 ** 8);
  });
});
