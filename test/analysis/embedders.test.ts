/** Embedders and rerankers: how many texts a sample is, how long they are, and which head scores them. */
import { strict as assert } from "node:assert";
import { resolveRun } from "../../src/analysis/resolve";
import { inPieces } from "../../src/core/training/trainers";
import { graphsOf } from "../core/receipts/case";
import { TINY_LLAMA } from "./memory-runtime";
import { gatherFiles } from "./resolve-run";

const BERT = { model_type: "bert", hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 2, vocab_size: 500 };

async function started(module: string, options: string, config: Readonly<Record<string, unknown>> = BERT) {
  const command = `torchrun --nproc_per_node 1 -m ${module} --model_name_or_path ./model --output_dir o --bf16 --per_device_train_batch_size 2`;
  const files = { "train.sh": `${command} ${options}\n`, "model/config.json": JSON.stringify(config) };
  const { run, suppositions } = resolveRun(await gatherFiles(files, "train.sh", graphsOf), {});
  assert.ok(run);
  return { ...run, said: JSON.stringify(suppositions) };
}

describe("analysis: programs that train embedders and rerankers", () => {
  it("read a query and a group of passages, counted in passages of their own length", async () => {
    const run = await started(
      "FlagEmbedding.finetune.embedder.encoder_only.base",
      "--train_data d --train_group_size 4 --query_max_len 96 --passage_max_len 64 --normalize_embeddings True",
    );
    assert.deepEqual([run.task, run.microBatchSize, run.choices, run.sequenceLength], ["multiple-choice", 2, 6, 64]);
    assert.match(run.said, /queries-apart/);
    assert.doesNotMatch(run.said, /uncounted/);
    const open = await started("tevatron.retriever.driver.train", "--lora --lora_target_modules query,value");
    assert.deepEqual(
      [open.choices, open.sequenceLength, open.adapter?.rank, open.adapter?.targetModules],
      [9, 128, 8, ["query", "value"]],
    );
  });

  it("read each passage behind its query where they score pairs", async () => {
    const run = await started(
      "FlagEmbedding.finetune.reranker.encoder_only.base",
      "--train_group_size 4 --query_max_len 96 --passage_max_len 64",
    );
    assert.deepEqual([run.task, run.choices, run.sequenceLength, run.adapter], ["multiple-choice", 4, 160, null]);
    assert.doesNotMatch(run.said, /queries-apart|uncounted/);
  });

  it("adapt decoders unless told otherwise", async () => {
    const module = "FlagEmbedding.finetune.embedder.decoder_only.base";
    const run = await started(module, "--lora_rank 32", TINY_LLAMA);
    assert.deepEqual([run.adapter?.rank, run.adapter?.targetModules], [32, ".*\\.(?:v|q|k|gate|down|o|up)_proj"]);
    assert.equal((await started(module, "--use_lora False", TINY_LLAMA)).adapter, null);
  });
});

describe("analysis: models that sentence-transformers' classes load", () => {
  const trained = async (lines: string) => {
    const text = `from sentence_transformers import *\nimport transformers\n${lines}\n`;
    const files = { "train.py": text, "model/config.json": JSON.stringify(BERT) };
    const { run } = resolveRun(await gatherFiles(files, "train.py", graphsOf), {});
    assert.ok(run);
    return run;
  };

  it("are the ones that are trained: texts one after another, or pairs with a score", async () => {
    const args = 'TrainingArguments("o", per_device_train_batch_size=4)';
    for (const name of ['"./model"', 'model_name_or_path="./model"']) {
      const run = await trained(
        `model = SentenceTransformer(${name})\nSentenceTransformerTrainer(model, SentenceTransformer${args}, loss=loss).train()`,
      );
      assert.deepEqual([run.task, run.trainer?.kind, run.model.config["hidden_size"]], ["seq-cls", "embedding", 64]);
    }
    const loss = "losses.MatryoshkaLoss(model, losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=16))";
    const data = 'load_dataset("sentence-transformers/all-nli", "triplet")';
    const pieces = await trained(
      `word = models.Transformer("./model", max_seq_length=48)\nmodel = SentenceTransformer(modules=[word, models.Pooling(64)])\nSentenceTransformerTrainer(model, SentenceTransformer${args.replace("=4", "=640")}, train_dataset=${data}, loss=${loss}).train()`,
    );
    assert.deepEqual([pieces.microBatchSize, pieces.sequenceLength], [640, 48]);
    assert.deepEqual([pieces.trainer?.candidates, pieces.trainer?.piece], [2, 16]);
    const alike = inPieces(pieces);
    assert.deepEqual([alike.microBatchSize, alike.gradientAccumulationSteps], [16, 120]);
    const pieceOf = async (size: string) => {
      const cached = `losses.CachedGISTEmbedLoss(model, guide, mini_batch_size=${size})`;
      const text = `from sentence_transformers import *\nmodel = SentenceTransformer("./model")\nSentenceTransformerTrainer(model, SentenceTransformer${args}, loss=${cached}).train()\n`;
      const files = { "train.py": text, "model/config.json": JSON.stringify(BERT) };
      return resolveRun(await gatherFiles(files, "train.py", graphsOf), {});
    };
    const open = await pieceOf("options.size");
    assert.equal(open.run?.trainer?.piece, 32);
    assert.match(JSON.stringify(open.suppositions), /mini_batch_size/);
    for (const size of ["0", "-1", "1e999"]) {
      const { run, obstacles } = await pieceOf(size);
      assert.equal(run, null, size);
      assert.match(JSON.stringify(obstacles), /"key":"mini_batch_size"/);
    }
    const scored = await trained(
      `model = CrossEncoder("./model", num_labels=1)\nCrossEncoderTrainer(model=model, args=CrossEncoder${args}, loss=loss).train()`,
    );
    assert.deepEqual([scored.task, scored.trainer, scored.model.config["num_labels"]], ["seq-cls", null, 1]);
  });
});
