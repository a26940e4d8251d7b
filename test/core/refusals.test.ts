/** What an estimate says where it cannot be made: whose fault it is. */
import { strict as assert } from "node:assert";
import { estimate } from "../../src/core/estimate";
import type { FamilyGraphs, Instruction } from "../../src/core/graph/types";
import { say } from "../../src/words/message";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

/** Llama with one more operator at the begin of its forward. */
function withOperator(instruction: Instruction): FamilyGraphs {
  const llama = graphsOf("llama");
  const graphs = llama.graphs.map((graph) => ({
    ...graph,
    main: { ...graph.main, body: [instruction, ...graph.main.body] },
  }));
  return { ...llama, graphs };
}

/** An encoder of two narrow layers. */
const SMALL = {
  hidden_size: 48,
  num_attention_heads: 6,
  num_hidden_layers: 2,
  intermediate_size: 96,
  vocab_size: 200,
};

describe("runs without an estimate", () => {
  it("an operator that the engine does not know is named", () => {
    const graphs = withOperator({ op: "einsum", in: ["bij,bjk,bkl->bil", ["%input_ids"]], out: ["sum"] });
    const result = estimate(causalRun({}), graphs);
    assert.deepEqual(result, { ok: false, code: "not-modelled", reason: say("engine.operator", { name: "einsum" }) });
  });

  it("an operator that is given something unknown is not the config's fault", () => {
    const graphs = withOperator({ op: "bmm", in: ["bij,bjk->bik", "%input_ids"], out: ["sum"] });
    const result = estimate(causalRun({}), graphs);
    assert.ok(!result.ok);
    assert.equal(result.code, "not-modelled");
  });

  it("a config that lacks a size is", () => {
    const run = causalRun({});
    const { hidden_size, ...config } = run.model.config;
    assert.equal(hidden_size, 64);
    const result = estimate(
      { ...run, model: { ...run.model, config: { ...config, hidden_size: "wide" } } },
      graphsOf("llama"),
    );
    assert.ok(!result.ok);
    assert.equal(result.code, "invalid-config");
  });

  it("weights that meet in two dtypes, which PyTorch refuses, are said", () => {
    const relative = {
      pos_att_type: "c2p|p2c",
      relative_attention: true,
      position_biased_input: false,
      type_vocab_size: 0,
    };
    const refused = (loadDtype: "float32" | "bfloat16", autocast: "bfloat16" | null): boolean => {
      const model = { name: "", family: "deberta", source: "config.json" as const, config: { ...SMALL, ...relative } };
      const run = causalRun({ model, task: "seq-cls", attention: "eager", loadDtype, autocast });
      const result = estimate(run, graphsOf("deberta"));
      assert.ok(result.ok);
      return result.estimate.assumptions.some(({ what }) => what.id === "engine.mixed-dtypes");
    };
    assert.equal(refused("bfloat16", null), true);
    assert.equal(refused("bfloat16", "bfloat16"), false);
    assert.equal(refused("float32", null), false);
  });

  it("what of the data decides which code runs is said, for the tasks where it does", () => {
    const said = (task: "seq-cls" | "token-cls"): string[] => {
      const model = {
        name: "",
        family: "longformer",
        source: "config.json" as const,
        config: { ...SMALL, attention_window: 8 },
      };
      const result = estimate(causalRun({ model, task, attention: "eager" }), graphsOf("longformer"));
      assert.ok(result.ok);
      return result.estimate.assumptions
        .filter((a) => a.settleWith === "global_attention_mask")
        .map(({ what }) => what.id);
    };
    assert.deepEqual(said("seq-cls"), ["graph.first-word"]);
    assert.equal(said("token-cls").length, 1);
  });

  it("classifiers of texts that are read and written suppose one end a text", () => {
    const config = { ...SMALL, d_model: 64, encoder_layers: 2, decoder_layers: 2, max_position_embeddings: 128 };
    const model = { name: "", family: "bart", source: "config.json" as const, config };
    const said = (["seq-cls", "qa"] as const).map((task) => {
      const result = estimate(causalRun({ model, task, sequenceLength: 64 }), graphsOf("bart"));
      assert.ok(result.ok);
      return result.estimate.assumptions.filter((a) => a.settleWith === "eos_token_id").length;
    });
    assert.deepEqual(said, [1, 0]);
  });
});
