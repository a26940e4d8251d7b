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
        "model/config.json": JSON.stringify({
          model_type: "gpt2",
          n_embd: 768,
          n_layer: 4,
          n_head: 12,
          vocab_size: 50257,
          n_positions: 1024,
        }),
        "run.sh":
          "deepspeed --num_gpus 4 run_clm.py --model_name_or_path ./model --output_dir o --per_device_train_batch_size 1 --bf16 True --block_size 64 --deepspeed ds.json\n",
      };
      const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("run.sh"), {})).runs;
      return run?.perDevice?.allocatedPeakBytes ?? 0;
    };
    const [bucket, none] = [await allocated(true), await allocated(false)];
    assert.ok(none > 0 && bucket - none > 5 * 10 ** 7, `${bucket} and ${none}`);
  });
});
