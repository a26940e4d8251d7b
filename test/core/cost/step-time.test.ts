import { strict as assert } from "node:assert";
import { type StepTime, stepTime, stepTimeFactor } from "../../../src/core/cost/step-time";
import type { Counts } from "../../../src/core/cost/work";
import { DEVICES } from "../../../src/core/hardware/devices";
import type { TrainingRun } from "../../../src/core/training/run";
import { RUN, ZERO } from "../advise/synthetic";
import { ADAPTED, ablation, COUNTS, LLAMA_8B, LORA, llama, on, publishedRuns } from "./runs";

const middle = ({ low, high }: StepTime) => Math.sqrt(low * high);

function factor(change: Partial<TrainingRun>, base: TrainingRun = llama(), counts: Counts = COUNTS): number {
  return stepTimeFactor({ run: base, counts: COUNTS }, { run: { ...base, ...change }, counts });
}

describe("stepTime", () => {
  const deepspeed = ZERO.parallel.deepspeed;
  assert.ok(deepspeed);
  const ratios: number[] = [];
  for (const { label, run, counts, seconds } of publishedRuns())
    it(`has ${label} in its range`, () => {
      const time = stepTime(run, counts);
      assert.ok(time);
      assert.ok(time.low <= seconds && seconds <= time.high, `${seconds} s, ${time.low}–${time.high}`);
      ratios.push(middle(time) / seconds);
    });

  it("has torchtitan's Llama 3.1 8B on 8 H100 in its range", () => {
    const run = llama({
      loadDtype: "float32",
      sequenceLength: 8192,
      microBatchSize: 2,
      device: on("H100", 8),
      parallel: {
        ...RUN.parallel,
        worldSize: 8,
        fsdp: { version: 2, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true },
      },
    });
    // Selective checkpointing lies between none and all.
    const none = stepTime(run, COUNTS);
    const all = stepTime({ ...run, checkpointing: { useReentrant: false } }, COUNTS);
    const seconds = (2 * 8192) / 5762;
    assert.ok(none && all && none.low <= seconds && seconds <= all.high);
  });

  it("is within 20 % of half of the published times, and within a factor 2.5 of nine in ten", () => {
    const errors = ratios.map((ratio) => Math.exp(Math.abs(Math.log(ratio)))).sort((a, b) => a - b);
    assert.ok((errors[Math.floor(errors.length / 2)] ?? 9) < 1.2);
    assert.ok((errors[Math.floor(0.9 * errors.length)] ?? 9) < 2.5);
  });

  it("costs about a third more with checkpointing", () => {
    const slower = factor({ checkpointing: { useReentrant: false } });
    assert.ok(slower > 1.2 && slower < 1.42, String(slower));
  });

  it("costs nearly nothing to trade batch for accumulation, and never less than nothing", () => {
    const same = factor({ microBatchSize: 1, gradientAccumulationSteps: 8 });
    assert.ok(same >= 1 && same < 1.15, String(same));
  });

  it("has the levers in the order that ablations have them", () => {
    const full = llama({ loadDtype: "float32", autocast: null });
    assert.ok(factor({ autocast: "bfloat16" }, full) < 0.3);
    assert.ok(factor({ attention: "eager" }) > 1.05);
    assert.ok(factor({ fusedLoss: true }) <= 1);
    const lora = factor({ adapter: LORA }, llama(), ADAPTED);
    const qlora = factor(
      { adapter: LORA, quantization: { type: "nf4", double: true, prepareForKbit: true, computeDtype: "bfloat16" } },
      llama(),
      ADAPTED,
    );
    assert.ok(lora < 1 && qlora > lora && qlora < 1.6, `${lora} ${qlora}`);
    assert.ok(factor({ optimizer: { name: "adamw_torch", args: {} } }) > 1);
    assert.ok(
      factor({ optimizer: { name: "paged_adamw_8bit", args: {} } }) >=
        factor({ optimizer: { name: "adamw_bnb_8bit", args: {} } }),
    );
    const shorter = factor({ sequenceLength: 1024 });
    assert.ok(shorter > 0.9 && shorter < 1, String(shorter));
  });

  it("ranks the levers of a published ablation as it does", () => {
    const rows = ablation().map(({ label, run, counts, seconds }) => {
      const time = stepTime(run, counts);
      assert.ok(time);
      return { label, seconds, modelled: middle(time) };
    });
    // Closer than an eighth is within the noise of both.
    for (const fast of rows)
      for (const slow of rows)
        if (slow.seconds > 1.125 * fast.seconds)
          assert.ok(slow.modelled > fast.modelled, `${fast.label} before ${slow.label}`);
  });

  it("says what bandwidth a step demands of what the card has", () => {
    const plain = stepTime(llama(), COUNTS);
    assert.deepEqual(
      plain?.demands.map(({ road }) => road),
      ["memory"],
    );
    const offload = { ...deepspeed, zeroStage: 3, offloadOptimizer: "cpu", offloadParam: "cpu" } as const;
    const run = llama({ device: on("8xA100-80GB", 8), parallel: { ...ZERO.parallel, deepspeed: offload } });
    const time = stepTime(run, COUNTS);
    assert.deepEqual(
      time?.demands.map(({ road }) => road),
      ["memory", "interconnect", "host"],
    );
    for (const { bytes, asked, available } of time?.demands ?? []) {
      assert.ok(asked > 0 && asked < available);
      assert.ok(time !== null && Math.abs(asked * middle(time) - bytes) < 1e-6 * bytes);
    }
  });

  it("has ZeRO and offload in the order of their traffic", () => {
    const base = llama({
      device: on("8xA100-80GB", 8),
      parallel: { ...ZERO.parallel, deepspeed: { ...deepspeed, zeroStage: 1 } },
    });
    const at = (change: Partial<typeof deepspeed>) =>
      factor({ parallel: { ...base.parallel, deepspeed: { ...deepspeed, zeroStage: 3, ...change } } }, base);
    const plain = at({});
    const optimizer = at({ offloadOptimizer: "cpu" });
    const both = at({ offloadOptimizer: "cpu", offloadParam: "cpu" });
    const nvme = at({ offloadOptimizer: "nvme", offloadParam: "nvme" });
    assert.ok(
      plain >= 1 && optimizer > plain && both > optimizer && nvme > both,
      `${plain} ${optimizer} ${both} ${nvme}`,
    );
    const time = stepTime(
      { ...base, parallel: { ...base.parallel, deepspeed: { ...deepspeed, zeroStage: 3, offloadOptimizer: "nvme" } } },
      COUNTS,
    );
    assert.equal(time?.bound, "host");
  });

  it("has cards in the order of their peaks", () => {
    const seconds = ["T4", "A10G", "RTX 3090", "RTX 4090", "A100-80GB", "H100", "B200"].map((card) => {
      const time = stepTime(llama({ device: on(card, 1) }), COUNTS);
      assert.ok(time, card);
      return middle(time);
    });
    assert.deepEqual(
      seconds,
      [...seconds].sort((a, b) => b - a),
    );
  });

  it("says what binds", () => {
    assert.equal(stepTime(llama(), COUNTS)?.bound, "compute");
    const tiny = { hidden_size: 256, num_hidden_layers: 24, num_attention_heads: 4, vocab_size: 1000 };
    const small = llama({ model: { ...RUN.model, config: tiny }, microBatchSize: 1, sequenceLength: 64 });
    assert.equal(stepTime(small, { parameters: 2e7, trainableParameters: 2e7 })?.bound, "host");
    const far = llama({
      device: on("RTX 4090", 64),
      microBatchSize: 1,
      sequenceLength: 256,
      parallel: { ...RUN.parallel, worldSize: 64 },
    });
    assert.equal(stepTime(far, COUNTS)?.bound, "interconnect");
  });

  it("gives an ordered, finite range on every card, or none", () => {
    for (const device of DEVICES) {
      const time = stepTime(llama(), COUNTS, device);
      if (device.peak === null) assert.equal(time, null);
      else {
        assert.ok(time && time.low > 0 && time.low <= time.high && Number.isFinite(time.high), device.name);
        assert.ok(time.high / time.low < 6, `${device.name} ${time.high / time.low}`);
      }
    }
  });

  it("has no answer, and a factor of one, where sizes or rates are unknown", () => {
    assert.equal(stepTime(llama({ model: { ...RUN.model, config: {} } }), COUNTS), null);
    assert.equal(stepTime(llama({ device: null }), COUNTS), null);
    assert.equal(factor({}, llama({ model: { ...RUN.model, config: {} } })), 1);
    const plain = llama({ device: { name: "24GB", memoryBytes: 24 * 2 ** 30, architecture: "unknown", count: 1 } });
    assert.ok(factor({ checkpointing: { useReentrant: false } }, plain) > 1.2);
  });

  it("counts images, encoders with decoders, and experts", () => {
    const vit = {
      hidden_size: 768,
      num_hidden_layers: 12,
      num_attention_heads: 12,
      patch_size: 16,
      intermediate_size: 3072,
    };
    const images = llama({
      task: "image-cls",
      imageSize: 224,
      sequenceLength: 0,
      microBatchSize: 64,
      model: { ...RUN.model, config: vit },
    });
    const small = stepTime(images, { parameters: 8.6e7, trainableParameters: 8.6e7 });
    const large = stepTime({ ...images, imageSize: 384 }, { parameters: 8.6e7, trainableParameters: 8.6e7 });
    assert.ok(small && large && large.low > 2.5 * small.low);
    const t5 = { d_model: 768, num_layers: 12, num_heads: 12, d_ff: 3072, d_kv: 64, vocab_size: 32128 };
    const both = llama({
      task: "seq2seq-lm",
      targetLength: 512,
      sequenceLength: 512,
      model: { ...RUN.model, config: t5 },
    });
    assert.ok(stepTime(both, { parameters: 2.2e8, trainableParameters: 2.2e8 }));
    const whisper = {
      d_model: 768,
      encoder_layers: 12,
      decoder_layers: 12,
      encoder_attention_heads: 12,
      encoder_ffn_dim: 3072,
      vocab_size: 51865,
    };
    const spoken = llama({
      task: "speech-seq2seq",
      targetLength: 448,
      sequenceLength: 0,
      model: { ...RUN.model, config: whisper },
    });
    const heard = stepTime(spoken, { parameters: 2.4e8, trainableParameters: 2.4e8 });
    const written = stepTime({ ...spoken, targetLength: 100 }, { parameters: 2.4e8, trainableParameters: 2.4e8 });
    // The 1500 frames of the encoder are there whatever is written.
    assert.ok(heard && written && heard.low > written.low && heard.low < 2 * written.low);
    const mixtral = { ...LLAMA_8B, num_local_experts: 8, num_experts_per_tok: 2, vocab_size: 32000 };
    const run = llama({ model: { ...RUN.model, config: mixtral } });
    const sparse = stepTime(run, { parameters: 46.7e9, trainableParameters: 46.7e9 });
    const dense = stepTime(llama(), { parameters: 46.7e9, trainableParameters: 46.7e9 });
    assert.ok(sparse && dense && sparse.parts.compute < 0.4 * dense.parts.compute);
  });
});
