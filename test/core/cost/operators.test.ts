/** What a micro-batch computes, counted off the engine's event stream. */
import { strict as assert } from "node:assert";
import { operatorsOf } from "../../../src/core/cost/operators";
import type { Pass } from "../../../src/core/report/operators";
import { simulate } from "../../../src/core/simulate";
import type { TrainerSpec, TrainingRun } from "../../../src/core/training/run";
import { english } from "../../english";
import { RUN } from "../advise/synthetic";
import { causalRun } from "../runs";
import { graphsWithTrainers } from "../trainers/receipts";
import { LLAMA_8B, LORA, llama, measured } from "./runs";

const operators = (run: TrainingRun) => {
  const found = measured(run).operators;
  assert.ok(found);
  return found;
};

/** FLOP of a pass's matrix products. */
const products = ({ products: all }: Pass): number =>
  all.reduce((sum, { count, rows, columns, inner, times }) => sum + 2 * count * rows * columns * inner * times, 0);

const near = (value: number, wanted: number, share = 0.01): void =>
  assert.ok(Math.abs(value - wanted) < share * wanted, `${value}, not ${wanted}`);

describe("operatorsOf", () => {
  const tokens = 4 * 2048;
  const run = llama();
  const matrices = measured(run).parameters - LLAMA_8B.vocab_size * LLAMA_8B.hidden_size;

  it("multiplies every token with every matrix once in forward and twice in backward", () => {
    const { forward, backward } = operators(run);
    near(products(forward), 2 * matrices * tokens);
    near(products(backward), 4 * matrices * tokens);
  });

  it("does not depend on folding: layers left out count as those that stand for them", () => {
    const at = (layers: number) =>
      operators(llama({ model: { ...RUN.model, config: { ...LLAMA_8B, num_hidden_layers: layers } } })).backward;
    const [few, more, most] = [at(8), at(16), at(32)].map(({ kernels, elementBytes }) => [kernels, elementBytes]);
    for (const k of [0, 1]) near(most![k]! - more![k]!, 2 * (more![k]! - few![k]!), 1e-9);
  });

  it("has half of the scores where attention is causal, five products for two in backward", () => {
    const { forward, backward } = operators(llama({ attention: "flash_attention_2" }));
    near(forward.attentionFlops, (32 * 4 * tokens * 2048 * 4096) / 2);
    near(backward.attentionFlops, 2.5 * forward.attentionFlops);
  });

  it("runs a layer's forward again where it is recomputed", () => {
    const { forward, backward } = operators(llama({ checkpointing: { useReentrant: false } }));
    const head = 2 * LLAMA_8B.vocab_size * LLAMA_8B.hidden_size * tokens;
    // The last product of a layer is not needed again: the recomputation stops before it.
    const again = products(backward) - products(operators(run).backward);
    assert.ok(again > 0.7 * (products(forward) - head) && again <= products(forward) - head);
  });

  it("has no gradients of frozen weights", () => {
    const { backward } = operators(llama({ adapter: LORA }));
    assert.ok(products(backward) < 0.6 * products(operators(run).backward));
  });

  it("moves more bytes with eager attention, fewer with Liger's kernels", () => {
    const bytes = (change: Partial<TrainingRun>): number => {
      const { forward, backward } = operators(llama(change));
      return forward.elementBytes + backward.elementBytes;
    };
    assert.ok(bytes({ attention: "eager" }) > 1.5 * bytes({}));
    assert.ok(bytes({ fusedLoss: true }) < 0.8 * bytes({}));
  });

  it("multiplies in 8 bits where the run says so", () => {
    const float8 = { backend: "torchao", recipe: "tensorwise", keeps: "head", cachesWeights: false } as const;
    const { forward } = operators(llama({ float8, compiled: "layers" }));
    const narrow = forward.products.filter(({ dtype }) => dtype === "float8");
    const head = 2 * LLAMA_8B.vocab_size * LLAMA_8B.hidden_size * tokens;
    near(products({ ...forward, products: narrow }), 2 * matrices * tokens - head);
  });

  it("counts what experts are chosen, not all", () => {
    const config = {
      hidden_size: 256,
      intermediate_size: 512,
      num_hidden_layers: 8,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      num_local_experts: 8,
      num_experts_per_tok: 2,
      vocab_size: 1000,
    };
    const sparse = causalRun({ loadDtype: "bfloat16", model: { ...RUN.model, family: "mixtral", config } });
    const perLayer = 2 * 256 * 256 + 2 * 256 * 128 + 2 * 3 * 256 * 512 + 256 * 8;
    near(products(operators(sparse).forward), 2 * 4 * 64 * (8 * perLayer + 256 * 1000), 0.02);
  });

  it("counts windows of convolutions: 4.1 billion products a picture in ResNet-50", () => {
    const pictures: TrainingRun = {
      ...RUN,
      task: "image-cls",
      model: { ...RUN.model, family: "resnet", config: { num_labels: 1000 } },
      imageSize: 224,
      sequenceLength: 0,
      microBatchSize: 16,
    };
    near(products(operators(pictures).forward), 16 * 2 * 4.09e9);
  });

  it("counts the forward of a reference beside the trained model's", () => {
    const trainer = (reference: string): TrainerSpec => ({
      kind: "dpo",
      variant: { loss: "sigmoid", reference },
      disableDropout: true,
      scoredTokens: 63,
      promptLength: 0,
      completionLength: 0,
    });
    const dpo = (reference: string): number => {
      const result = simulate(causalRun({ trainer: trainer(reference) }), graphsWithTrainers("llama"));
      assert.ok(result.ok, result.ok ? "" : english(result.reason));
      const found = operatorsOf(result.simulation.ledger, { tensors: 0, offloadedBytes: 0 });
      assert.ok(found);
      return products(found.forward);
    };
    near(dpo("model"), 2 * dpo("none"));
  });

  it("says how many tensors are stepped on", () => {
    assert.equal(operators(run).tensors, 32 * 9 + 3);
    assert.equal(operators(llama({ adapter: LORA })).tensors, 32 * 7 * 2);
  });
});
