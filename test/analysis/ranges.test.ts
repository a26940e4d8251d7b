/** Numbers that no library can mean: no verdict, no negative sizes, and the number is named. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { faultsOf } from "../attack/judge";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const TRAIN =
  "model_name_or_path: ./model\noutput_dir: o\nper_device_train_batch_size: 1\nmax_length: 32\nbf16: true\n";

async function analysed(train: string, model: object = TINY_LLAMA) {
  const runtime = memoryRuntime({ "train.yaml": train, "model/config.json": JSON.stringify(model) });
  return createAnalyzer(runtime).analyse(uri("train.yaml"), { device: "RTX 4090" });
}

describe("numbers out of range", () => {
  const trains: readonly (readonly [string, string])[] = [
    ["per_device_train_batch_size: 1", "per_device_train_batch_size: 9007199254740993"],
    ["per_device_train_batch_size: 1", "per_device_train_batch_size: -4"],
    ["per_device_train_batch_size: 1", "per_device_train_batch_size: .inf"],
    ["max_length: 32", "max_length: .nan"],
    ["max_length: 32", "max_length: .inf"],
    ["max_length: 32", "max_length: [32]"],
    ["bf16: true", "bf16: true\ngradient_accumulation_steps: .inf"],
    ["max_length: 32", "max_length: 1.0e+300"],
    ["bf16: true", "bf16: true\ngradient_accumulation_steps: 1.0e+300"],
  ];
  for (const [from, to] of trains) {
    it(to, async () => {
      const analysis = await analysed(TRAIN.replace(from, to));
      assert.deepEqual(faultsOf(analysis), []);
      const [run] = analysis.report.runs;
      assert.notEqual(run?.verdict, "fits");
      assert.ok((run?.findings.length ?? 1) > 0);
    });
  }

  it("a batch whose bytes are more than numbers hold is said to be that", async () => {
    const train = TRAIN.replace("batch_size: 1", "batch_size: 999999").replace("max_length: 32", "max_length: 4096");
    const model = {
      ...TINY_LLAMA,
      hidden_size: 8192,
      intermediate_size: 65536,
      num_hidden_layers: 32,
      vocab_size: 128256,
    };
    const analysis = await analysed(train, model);
    assert.deepEqual(faultsOf(analysis), []);
    const [run] = analysis.report.runs;
    assert.equal(run?.verdict, "unknown");
    assert.ok(
      run?.findings.some(({ message }) => message.includes("8 PiB")),
      JSON.stringify(run?.findings),
    );
  });

  for (const change of [
    { hidden_size: -1 },
    { vocab_size: 1e300 },
    { vocab_size: 0 },
    { hidden_size: 0 },
    { num_attention_heads: 0 },
    { num_hidden_layers: 0 },
    { num_hidden_layers: 1e9 },
    { model_type: "whisper", decoder_layers: 0 },
    { model_type: "bart", encoder_layers: 0 },
    { model_type: "moonshine", decoder_num_hidden_layers: 0 },
    { intermediate_size: -128 },
    { num_attention_heads: -4 },
    { model_type: "mixtral", num_local_experts: 4, num_experts_per_tok: 2, hidden_size: -1 },
  ]) {
    it(`model ${JSON.stringify(change)}`, async () => {
      const analysis = await analysed(TRAIN, { ...TINY_LLAMA, ...change });
      assert.deepEqual(faultsOf(analysis), []);
      const [run] = analysis.report.runs;
      assert.equal(run?.verdict, "unknown");
      const [key = ""] = Object.keys(change).slice(-1);
      assert.ok(
        run?.findings.some(({ message }) => message.includes(key)),
        JSON.stringify(run?.findings),
      );
    });
  }
});
