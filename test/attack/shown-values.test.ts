import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { faultsOf } from "./judge";
import { READERS } from "./readers";
import { SEEDS } from "./seeds";

describe("attacks: values that findings repeat", () => {
  it("are shown where they are no numbers of a program's", async () => {
    const { main, files } = READERS["diffusers' FLUX"]!;
    const digits = "9".repeat(400);
    const text = files[main]!.replace("--mixed_precision bf16", `--mixed_precision ${digits}`);
    const analysis = await createAnalyzer(memoryRuntime({ ...files, [main]: text })).analyse(uri(main), {
      device: "RTX 4090",
    });
    assert.deepEqual(faultsOf(analysis, digits), []);
  });

  it("are shown as they stand where one of some names belongs", async () => {
    const digits = "9".repeat(400);
    const text = `torchrun train.py --model_name_or_path gpt2 --output_dir out --per_device_train_batch_size 1 --optim ${digits}\n`;
    const analysis = await createAnalyzer(memoryRuntime({ "run.sh": text })).analyse(uri("run.sh"), {
      device: "RTX 4090",
    });
    assert.ok(analysis.report.runs.length > 0);
    assert.deepEqual(faultsOf(analysis, digits), []);
  });

  it("are no length of sequences where they are beyond all numbers", async () => {
    const { main, files } = SEEDS["python"]!;
    const digits = "9".repeat(400);
    const text = files[main]!.replace("max_steps=10", `max_steps=10, source_max_len=${digits}`);
    const analysis = await createAnalyzer(memoryRuntime({ ...files, [main]: text })).analyse(uri(main), {
      device: "RTX 4090",
    });
    assert.deepEqual(faultsOf(analysis, digits), []);
  });
});
