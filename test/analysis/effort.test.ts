import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { Estimator } from "../../src/analysis/estimate/estimator";
import { memoryRuntime, uri } from "./memory-runtime";

const GRPO_WITH_PICTURES =
  "model_name_or_path: Qwen/Qwen2.5-VL-3B-Instruct\noutput_dir: o\nreward_funcs: x\nbf16: true\nnum_generations: 8\n" +
  "per_device_train_batch_size: 8\nmax_completion_length: 1024\n";
/** What an answer may take beside the run itself (`run-analysis.ts`). */
const BESIDE = 12_000_000;

describe("what a search for plans takes", () => {
  it("counts what is simulated for as much as it takes, and says that it was cut short", async () => {
    const own = Estimator.prototype.estimate;
    const efforts: number[] = [];
    Estimator.prototype.estimate = function (...given) {
      const result = own.apply(this, given);
      if (result.ok) efforts.push(result.estimate.effort);
      return result;
    };
    try {
      const analyzer = createAnalyzer(memoryRuntime({ "train.yaml": GRPO_WITH_PICTURES }));
      const { runs } = await analyzer.analyse(uri("train.yaml"), { plans: true, device: "RTX 4090" });
      const [base = 0] = efforts;
      const total = efforts.reduce((sum, effort) => sum + effort, 0);
      assert.ok(total <= BESIDE + 2 * base, `${total}, of the run itself ${base}`);
      assert.ok(JSON.stringify(runs[0]?.assumptions).includes("a large run"));
    } finally {
      Estimator.prototype.estimate = own;
    }
  });
});
