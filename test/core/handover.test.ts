/** Weights on their way to vLLM: receipts of TRL's own `sync_weights` under each strategy, before the first step. */
import assert from "node:assert/strict";
import { Ledger } from "../../src/core/engine/ledger";
import { Torch } from "../../src/core/engine/torch";
import { loadModels } from "../../src/core/simulation/models";
import { setupOf } from "../../src/core/simulation/setup";
import { groupsOf } from "../../src/core/training/optimizers";
import { chooseStrategy } from "../../src/core/training/parallel";
import type { TrainingRun, WeightSyncSpec } from "../../src/core/training/run";
import { syncWeights } from "../../src/core/training/trainers";
import { rowsOf } from "../rows";
import { graphsOf, runOf as rankOf, receiptsOf } from "./receipts/case";
import { causalRun, loraSpec } from "./runs";
import { runOf, type ZeroCase } from "./zero/case";

/** Allocated at most while weights are handed over. */
function peakOf(run: TrainingRun, sync: WeightSyncSpec = { batches: null }): number {
  const setup = setupOf(run, graphsOf(run.model.family));
  assert.ok(!("reason" in setup));
  const torch = new Torch(new Ledger());
  const strategy = chooseStrategy(run);
  const models = loadModels(torch, setup, strategy);
  assert.ok(!("reason" in models));
  const { parameters } = models;
  const trained = parameters.filter(({ requiresGradFlag }) => requiresGradFlag);
  const make = (groups: Parameters<typeof setup.optimizer>[1]) => setup.optimizer(torch, groups, run.optimizer.args);
  strategy.optimizer?.(torch, groupsOf(run.optimizer, trained), make);
  torch.ledger.enter("generation", 0);
  syncWeights(torch, strategy, parameters, sync);
  return torch.ledger.phaseList.find(({ phase }) => phase === "generation")!.peak;
}

/** @param stale shards in the dtype they were loaded in, which flat parameters that were raised name until they are gathered first */
const near = (own: number, said: number, id: string, stale = 0): void =>
  assert.ok(
    own - said <= 64 * 1024 && said - own <= 64 * 1024 + said / 1000 + stale,
    `${id}: ${own} instead of ${said}`,
  );

describe("weights on their way to vLLM", () => {
  for (const { case: c, handover } of rowsOf<{ case: ZeroCase; handover: number }>(__dirname, "zero/handed.jsonl"))
    it(`${c.id}, ${c.model.model_type} under ZeRO-3 on ${c.zero.world}${c.peft === undefined ? "" : " with adapters"}`, () => {
      near(peakOf(runOf(c)), handover, c.id);
    });

  for (const kind of ["fsdp2-handed", "fsdp1-handed"])
    for (const { case: c, result } of receiptsOf(`ranks/${kind}`))
      it(`${c.id} on ${c.ranks?.world}`, () => {
        const raised = kind === "fsdp1-handed" && c.load_dtype === "bfloat16" && c.bf16;
        near(
          peakOf(rankOf(c)),
          result.phase_peaks["handover"]!,
          c.id,
          raised ? result.phase_peaks["handover"]! / 16 : 0,
        );
      });

  const GIB = 1024 ** 3;
  const config = {
    ...{ model_type: "llama", hidden_size: 4096, intermediate_size: 14_336, num_hidden_layers: 32 },
    ...{ num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128_256 },
  };
  const plain = causalRun({
    model: { name: "llama", family: "llama", source: "config.json", config },
    loadDtype: "bfloat16",
    autocast: null,
  });
  /** Bytes beside what is there anyway. */
  const more = (run: TrainingRun, sync: WeightSyncSpec): number =>
    (peakOf(run, sync) - peakOf(run, { batches: 1_000 })) / GIB;

  it("a server is sent blocks of a gibibyte, two at a time, made of parameters that are there", () => {
    const sent = peakOf(plain, { batches: null, packs: true }) - peakOf(plain, { batches: null });
    // Each is full when another tensor more has come.
    assert.ok(sent > 2 * GIB && sent < 3 * GIB, `${sent}`);
  });

  it("merged adapters are a layer's product and its scaled copy, there and back", () => {
    const adapted = { ...plain, adapter: loraSpec({ targetModules: ["down_proj"], autocastAdapterDtype: false }) };
    const most = 2 * 4096 * 14_336 * 2;
    const peak = peakOf(adapted) - peakOf(plain);
    assert.ok(peak > most && peak < most + 2 ** 26, `${peak}`);
  });

  const zero3: TrainingRun = {
    ...runOf({
      id: "zero3",
      model: config,
      ...{ batch: 1, seq: 8, attn: "sdpa", load_dtype: "bfloat16", gradient_checkpointing: false },
      ...{ optim: "sgd", grad_accum: 1, max_grad_norm: 0 },
      zero: { world: 8, precision: "bf16", config: { stage: 3, reduce_bucket_size: 1, sub_group_size: 1 } },
    } as ZeroCase),
  };

  it("batches of layers are whole at once, down to one layer", () => {
    const whole = more(zero3, { batches: 1 });
    const quarter = more(zero3, { batches: 4 });
    assert.ok(whole > 12 && whole < 15, `${whole}`);
    // Embedding and head are 2 GiB together, eight layers 3.25.
    assert.ok(quarter > 1.2 && quarter < 1.4, `${quarter}`);
  });
});
