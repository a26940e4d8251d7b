import { strict as assert } from "node:assert";
import { type StepTime, stepTime, stepTimeFactor } from "../../../src/core/cost/step-time";
import { DEVICES } from "../../../src/core/hardware/devices";
import type { TrainingRun } from "../../../src/core/training/run";
import { RUN, ZERO } from "../advise/synthetic";
import { LLAMA_8B, LORA, llama, measured, on, type PublishedRun, publishedRuns } from "./runs";

const middle = ({ low, high }: StepTime) => Math.sqrt(low * high);

function timeOf(run: TrainingRun): StepTime {
  const time = stepTime(run, measured(run));
  assert.ok(time);
  return time;
}

function factor(change: Partial<TrainingRun>, base: TrainingRun = llama()): number {
  const run = { ...base, ...change };
  return stepTimeFactor({ run: base, counts: measured(base) }, { run, counts: measured(run) });
}

/** Published times that lie a little above the model's range: a nearly full card, and an optimizer of a library's early days. */
const ABOVE = /ZeRO-3$|adamw_bnb_8bit, V100/;

describe("stepTime", () => {
  const deepspeed = ZERO.parallel.deepspeed;
  assert.ok(deepspeed);
  const rows = publishedRuns();
  const times = new Map<PublishedRun, StepTime>();
  const modelled = (row: PublishedRun): StepTime => {
    let time = times.get(row) ?? null;
    time ??= stepTime(row.run, measured(row.run), row.device);
    assert.ok(time);
    times.set(row, time);
    return time;
  };
  for (const row of rows)
    it(`has ${row.label} ${ABOVE.test(row.label) ? "above" : "in"} its range`, () => {
      const { low, high } = modelled(row);
      const most = ABOVE.test(row.label) ? 1.15 * high : high;
      assert.ok(low <= row.seconds && row.seconds <= most, `${row.seconds} s, ${low}–${high}`);
    });

  it("is within 15 % of half of the published times, and within 50 % of nine in ten", () => {
    const errors = rows
      .map((row) => Math.exp(Math.abs(Math.log(middle(modelled(row)) / row.seconds))))
      .sort((a, b) => a - b);
    assert.ok((errors[Math.floor(errors.length / 2)] ?? 9) < 1.15);
    assert.ok((errors[Math.floor(0.9 * errors.length)] ?? 9) < 1.5);
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
    const lora = factor({ adapter: LORA });
    const qlora = factor({
      adapter: LORA,
      quantization: { type: "nf4", double: true, prepareForKbit: true, computeDtype: "bfloat16" },
    });
    assert.ok(lora < 1 && qlora > lora && qlora < 1.6, `${lora} ${qlora}`);
    assert.ok(factor({ optimizer: { name: "adamw_torch", args: {} } }) > 1);
    assert.ok(
      factor({ optimizer: { name: "paged_adamw_8bit", args: {} } }) >=
        factor({ optimizer: { name: "adamw_bnb_8bit", args: {} } }),
    );
    const shorter = factor({ sequenceLength: 1024, microBatchSize: 8 });
    assert.ok(shorter > 0.9 && shorter < 1, String(shorter));
  });

  for (const name of new Set(rows.flatMap(({ ablation }) => ablation ?? [])))
    it(`ranks the levers of the ablation “${name}” as it does`, () => {
      const own = rows.filter(({ ablation }) => ablation === name);
      // Closer than an eighth is within the noise of both.
      for (const fast of own)
        for (const slow of own)
          if (slow.seconds > 1.125 * fast.seconds)
            assert.ok(middle(modelled(slow)) > middle(modelled(fast)), `${fast.label} before ${slow.label}`);
    });

  it("says what bandwidth a step demands of what the card has", () => {
    const plain = timeOf(llama());
    assert.deepEqual(
      plain?.demands.map(({ road }) => road),
      ["memory"],
    );
    const offload = { ...deepspeed, zeroStage: 3, offloadOptimizer: "cpu", offloadParam: "cpu" } as const;
    const run = llama({ device: on("8xA100-80GB", 8), parallel: { ...ZERO.parallel, deepspeed: offload } });
    const time = timeOf(run);
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
    const far = { ...deepspeed, zeroStage: 3, offloadOptimizer: "nvme" } as const;
    assert.equal(timeOf({ ...base, parallel: { ...base.parallel, deepspeed: far } }).bound, "host");
  });

  it("has cards in the order of their peaks", () => {
    const seconds = ["T4", "A10G", "RTX 3090", "RTX 4090", "A100-80GB", "H100", "B200"].map((card) =>
      middle(timeOf(llama({ device: on(card, 1) }))),
    );
    assert.deepEqual(
      seconds,
      [...seconds].sort((a, b) => b - a),
    );
  });

  it("says what binds", () => {
    assert.equal(timeOf(llama())?.bound, "compute");
    const tiny = { hidden_size: 256, num_hidden_layers: 24, num_attention_heads: 4, vocab_size: 1000 };
    const small = llama({ model: { ...RUN.model, config: tiny }, microBatchSize: 1, sequenceLength: 64 });
    assert.equal(timeOf(small).bound, "host");
    const far = llama({
      device: on("RTX 4090", 64),
      microBatchSize: 1,
      sequenceLength: 256,
      parallel: { ...RUN.parallel, worldSize: 64 },
    });
    assert.equal(timeOf(far).bound, "interconnect");
  });

  it("gives an ordered, finite range on every card, or none", () => {
    const counts = measured(llama());
    for (const device of DEVICES) {
      const time = stepTime(llama(), counts, device);
      if (device.peak === null) assert.equal(time, null);
      else {
        assert.ok(time && time.low > 0 && time.low <= time.high && Number.isFinite(time.high), device.name);
        assert.ok(time.high / time.low < 6, `${device.name} ${time.high / time.low}`);
      }
    }
  });

  it("has no answer, and a factor of one, where kernels or rates are unknown", () => {
    const counts = { ...measured(llama()), operators: null };
    assert.equal(stepTime(llama(), counts), null);
    assert.equal(stepTime(llama({ device: null }), measured(llama())), null);
    assert.equal(stepTimeFactor({ run: llama(), counts }, { run: llama(), counts }), 1);
    const plain = llama({ device: { name: "24GB", memoryBytes: 24 * 2 ** 30, architecture: "unknown", count: 1 } });
    assert.ok(factor({ checkpointing: { useReentrant: false } }, plain) > 1.2);
  });

  it("moves paged states only where they have no room", () => {
    const paged = { optimizer: { name: "paged_adamw_8bit", args: {} }, microBatchSize: 1 } as const;
    const roads = (card: string) => timeOf(llama({ ...paged, device: on(card, 1) })).demands.map(({ road }) => road);
    assert.deepEqual(roads("A100-80GB"), ["memory"]);
    assert.deepEqual(roads("A100-40GB"), ["memory", "host"]);
  });

  it("sends over bridges between two cards, over PCIe between more, over a switch between all", () => {
    const available = (card: string, count: number): number | undefined => {
      const parallel = { ...RUN.parallel, worldSize: count };
      const { demands } = timeOf(llama({ device: on(card, count), parallel }));
      return demands.find(({ road }) => road === "interconnect")?.available;
    };
    assert.deepEqual(
      [available("RTX 3090", 2), available("RTX 3090", 4), available("A100-80GB", 8), available("RTX 4090", 2)],
      [56.25e9, 31.5e9, 300e9, 31.5e9],
    );
  });

  it("has state spaces with and without the packages of their kernels in its range", () => {
    const config = { hidden_size: 768, num_hidden_layers: 4, vocab_size: 1000 };
    const run = llama({ model: { ...RUN.model, family: "mamba2", config }, microBatchSize: 1, sequenceLength: 256 });
    const { forward } = measured(run).operators ?? {};
    assert.ok(forward && forward.sparedBytes > 0.5 * forward.elementBytes);
    const { low, high } = timeOf(run);
    assert.ok(high > 5 * low, `${low}–${high}`);
  });

  it("lets stages of a pipeline wait for one another, less the more micro-batches there are", () => {
    const config = { ...LLAMA_8B, num_hidden_layers: 8 };
    const whole = llama({ model: { ...RUN.model, config }, microBatchSize: 1, device: on("8xA100-80GB", 8) });
    const staged = (micro: number): number => {
      const base = { ...whole, gradientAccumulationSteps: micro };
      const parallel = { ...RUN.parallel, worldSize: 4, pipelineParallel: 4 };
      return timeOf({ ...base, parallel }).low / timeOf({ ...base, parallel: RUN.parallel }).low;
    };
    // A quarter of the layers, the head and the waiting: with one micro-batch nothing is gained.
    assert.ok(staged(1) > 0.9 && staged(16) < 0.6 * staged(1), `${staged(1)} ${staged(16)}`);
  });

  it("pays for 8-bit products in large layers, not in small ones", () => {
    const float8 = { backend: "torchao", recipe: "tensorwise", keeps: "head", cachesWeights: false } as const;
    const of = (hidden: number): number => {
      const config = {
        ...LLAMA_8B,
        hidden_size: hidden,
        intermediate_size: 4 * hidden,
        num_hidden_layers: 8,
        num_attention_heads: hidden / 128,
        num_key_value_heads: hidden / 128,
        vocab_size: 1000,
      };
      const base = llama({
        model: { ...RUN.model, config },
        microBatchSize: 2,
        compiled: "layers",
        device: on("H100", 1),
      });
      return factor({ float8 }, base);
    };
    // torchao's table of layers on H100 (torchao/float8/README.md): 1.39 times as fast at 8192, slower at 1024.
    assert.ok(of(8192) > 0.6 && of(8192) < 0.85, String(of(8192)));
    assert.ok(of(1024) > 0.9, String(of(1024)));
  });

  it("gains nothing by 8-bit products on a card without units for them", () => {
    const float8 = { backend: "torchao", recipe: "tensorwise", keeps: "head", cachesWeights: false } as const;
    assert.ok(factor({ float8 }) >= 1);
  });

  it("leaves room for the fused kernels of a framework's own code", () => {
    const [captured, own] = [timeOf(llama()), timeOf(llama({ standsFor: "Megatron-LM", ownCode: true }))];
    assert.ok(own.low < 0.95 * captured.low && own.high === captured.high);
  });

  it("multiplies faster by a vocabulary whose rows are aligned", () => {
    const of = (vocab_size: number) => llama({ model: { ...RUN.model, config: { ...LLAMA_8B, vocab_size } } });
    const padded = stepTimeFactor(
      { run: of(50257), counts: measured(of(50257)) },
      { run: of(50304), counts: measured(of(50304)) },
    );
    assert.ok(padded < 1 && padded > 0.8, String(padded));
  });

  it("counts the products of Muon's step: more than a batch of a few thousand tokens", () => {
    const muon = measured(llama({ optimizer: { name: "muon", args: {} } })).operators?.stepping ?? [];
    const flops = muon.reduce((sum, { rows, columns, inner, times }) => sum + 2 * rows * columns * inner * times, 0);
    const [hidden, inner] = [LLAMA_8B.hidden_size, LLAMA_8B.intermediate_size];
    // Five steps of X·Xᵀ, its square, and their product with X, for matrices of some sides.
    const steps = (a: number, b: number): number => 5 * 2 * (2 * a * a * b + a * a * a);
    const layer = 2 * steps(hidden, hidden) + 2 * steps(hidden / 4, hidden) + 3 * steps(hidden, inner);
    assert.ok(Math.abs(flops - 32 * layer) < 0.01 * flops, `${flops / (32 * layer)}`);
  });

  it("has convolutions on TF32 units as PyTorch has, and other products when told to", () => {
    const pictures = {
      ...RUN,
      task: "image-cls",
      model: { ...RUN.model, family: "resnet", config: {} },
      imageSize: 224,
      sequenceLength: 0,
      device: on("A100-80GB", 1),
    } as const;
    assert.equal(factor({ tf32: true }, pictures) > 0.9, true);
    const full = llama({ loadDtype: "float32", autocast: null });
    const faster = factor({ tf32: true }, full);
    assert.ok(faster > 0.1 && faster < 0.4, String(faster));
  });
});
