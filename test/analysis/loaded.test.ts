/** What a script's own code says of its model's head and of its samples' lengths. */
import { strict as assert } from "node:assert";
import { resolveRun } from "../../src/analysis/resolve";
import type { TrainingRun } from "../../src/core/training/run";
import { graphsOf } from "../core/receipts/case";
import { TINY_LLAMA } from "./memory-runtime";
import { gatherFiles } from "./resolve-run";

const BERT = { model_type: "bert", hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 2, vocab_size: 500 };

/** What `train.py` among the files comes to, the model in a folder beside it. */
const resolved = async (files: Readonly<Record<string, string>>) =>
  resolveRun(await gatherFiles(files, "train.py", graphsOf), {});

/** The run of a script that ends with a plain Trainer, with two models beside it. */
async function runOf(body: string, config: Readonly<Record<string, unknown>> = BERT): Promise<TrainingRun> {
  const text = `from transformers import *\n${body}\nTrainer(model=model, args=TrainingArguments(output_dir="o")).train()\n`;
  const { run } = await resolved({
    "train.py": text,
    "model/config.json": JSON.stringify(config),
    "teacher/config.json": JSON.stringify({ ...config, hidden_size: 128 }),
  });
  assert.ok(run);
  return run;
}

const loaded = (name: string): Promise<TrainingRun> => runOf(`model = ${name}.from_pretrained("./model")`);

describe("analysis: the class a script loads its model as", () => {
  it("is given no longer texts than it has positions for, also where its file leaves that to the config class", async () => {
    assert.equal((await loaded("AutoModelForSequenceClassification")).sequenceLength, 512);
  });

  it("has the attention that its call asks for, which may be one for each part", async () => {
    const attention = async (more: string): Promise<string> =>
      (await runOf(`model = BertForTokenClassification.from_pretrained("./model", ${more})`)).attention;
    assert.equal(await attention("use_flash_attention_2=False"), await attention("use_cache=False"));
    assert.equal(await attention("use_flash_attention_2=True"), "flash_attention_2");
    const files = {
      "train.py": `from transformers import *\nmodel = BertForTokenClassification.from_pretrained("./model", attn_implementation={"decoder": "sdpa"})\nTrainer(model=model, args=TrainingArguments(output_dir="o")).train()\n`,
      "model/config.json": JSON.stringify(BERT),
    };
    assert.deepEqual((await gatherFiles(files, "train.py", graphsOf)).main.read.problems, []);
  });

  it("says which head and loss are trained, whatever the checkpoint was made for", async () => {
    assert.equal((await loaded("AutoModelForSequenceClassification")).task, "seq-cls");
    assert.equal((await loaded("BertForTokenClassification")).task, "token-cls");
    assert.equal((await loaded("transformers.AutoModelForMaskedLM")).task, "masked-lm");
    const summarizes = await runOf('model = AutoModelForSeq2SeqLM.from_pretrained("./model")', { model_type: "t5" });
    assert.equal(summarizes.task, "seq2seq-lm");
  });

  it("without a head is taken to have a small one of the script's own", async () => {
    assert.equal((await loaded("AutoModel")).task, "seq-cls");
    assert.equal((await loaded("BertModel")).task, "seq-cls");
  });

  it("gives the classifier as many rows as the call says", async () => {
    const run = await runOf('model = AutoModelForSequenceClassification.from_pretrained("./model", num_labels=17)');
    assert.equal(run.model.config["num_labels"], 17);
  });

  it("is that of the model which is trained, not of one loaded beside it", async () => {
    const both = [
      'model = AutoModelForSequenceClassification.from_pretrained("./model")',
      'teacher = AutoModelForMaskedLM.from_pretrained("./teacher")',
    ];
    for (const lines of [both, both.toReversed()]) {
      const run = await runOf(lines.join("\n"));
      assert.deepEqual([run.task, run.model.config["hidden_size"]], ["seq-cls", 64]);
    }
    const wrapped = [
      ...both.map((line) => line.replace("model =", "student =")),
      "student = prepare_model_for_kbit_training(student)",
      "model = get_peft_model(student, peft_config)",
    ];
    assert.equal((await runOf(wrapped.join("\n"))).task, "seq-cls");
  });

  it("loads the text side of models that read pictures, where the class for language models does", async () => {
    const config = {
      model_type: "qwen3_5",
      vision_config: { depth: 2 },
      text_config: { hidden_size: 64, num_hidden_layers: 4 },
    };
    const text = await runOf('model = AutoModelForCausalLM.from_pretrained("./model")', config);
    assert.deepEqual([text.model.family, text.task, text.imageSize], ["qwen3_5_text", "causal-lm", 0]);
    const whole = await runOf('model = AutoModelForImageTextToText.from_pretrained("./model")', config);
    assert.deepEqual([whole.model.family, whole.task], ["qwen3_5", "image-text-to-text"]);
  });

  it("generates from words, sound or pictures by what the config has", async () => {
    const llava = await runOf('model = AutoModelForCausalLM.from_pretrained("./model")', {
      model_type: "llava",
      vision_config: {},
      text_config: TINY_LLAMA,
    });
    assert.equal(llava.task, "image-text-to-text");
  });
});

describe("analysis: lengths that a script tokenizes to", () => {
  const model = 'model = AutoModelForSeq2SeqLM.from_pretrained("./model")\n';
  const t5 = { model_type: "t5", d_model: 64, d_kv: 16, num_heads: 2, num_layers: 2, d_ff: 64, vocab_size: 500 };

  it("are those of the samples, the words to write apart", async () => {
    const run = await runOf(
      `${model}LENGTH = 96\nx = tokenizer(texts, max_length=LENGTH, truncation=True)\ny = tokenizer(text_target=sums, max_length=24)`,
      t5,
    );
    assert.deepEqual([run.sequenceLength, run.targetLength], [96, 24]);
    const named = await runOf(`${model}x = self.tokenizer(a, max_length=80)\nlabels = tok(b, max_length=20)`, t5);
    assert.deepEqual([named.sequenceLength, named.targetLength], [80, 20]);
  });

  it("are those of the pieces that texts are cut into, all full", async () => {
    const text =
      'from transformers import *\nmodel = AutoModelForMaskedLM.from_pretrained("./model")\nchunk_size = 48\n' +
      'data = data.map(group_texts, batched=True)\nTrainer(model=model, args=TrainingArguments("o"))\n';
    const found = await resolved({ "train.py": text, "model/config.json": JSON.stringify(BERT) });
    assert.deepEqual([found.run?.sequenceLength, found.padding], [48, null]);
  });

  it("end before the rows that a table of positions keeps for padding", async () => {
    const roberta = { ...BERT, model_type: "roberta", max_position_embeddings: 514, pad_token_id: 1 };
    const run = await runOf('model = AutoModelForMaskedLM.from_pretrained("./model")', roberta);
    assert.equal(run.sequenceLength, 512);
  });

  it("are all equal where batches are filled up to them", async () => {
    const bert = 'model = AutoModelForSequenceClassification.from_pretrained("./model")\n';
    const padding = async (words: string) =>
      (
        await resolved({
          "train.py": `from transformers import *\n${bert}tokenizer(x, max_length=64, ${words})\nTrainer(model=model, args=TrainingArguments("o"))\n`,
          "model/config.json": JSON.stringify(BERT),
        })
      ).padding;
    assert.equal(await padding('padding="max_length"'), null);
    assert.ok(await padding("truncation=True"));
  });
});

describe("analysis: the example scripts of transformers", () => {
  const command = async (words: string, config: Readonly<Record<string, unknown>> = BERT) =>
    resolveRun(
      await gatherFiles(
        {
          "train.sh": `python examples/${words} --model_name_or_path ./model --output_dir o --per_device_train_batch_size 4\n`,
          "model/config.json": JSON.stringify({
            ...config,
            architectures: ["BertForMaskedLM"],
            max_position_embeddings: 512,
          }),
        },
        "train.sh",
        graphsOf,
      ),
      {},
    );

  it("train the class they load, over their own default lengths", async () => {
    const glue = await command("run_glue.py");
    assert.deepEqual([glue.run?.task, glue.run?.sequenceLength, glue.padding], ["seq-cls", 128, null]);
    const asked = await command("run_qa.py --max_seq_length 200 --pad_to_max_length false");
    assert.deepEqual([asked.run?.task, asked.run?.sequenceLength], ["qa", 200]);
    assert.ok(asked.padding);
    const swag = await command("run_swag.py");
    assert.deepEqual([swag.run?.task, swag.run?.sequenceLength], ["multiple-choice", 512]);
    const sums = await command("run_summarization.py", { ...BERT, model_type: "t5" });
    assert.deepEqual([sums.run?.task, sums.run?.sequenceLength, sums.run?.targetLength], ["seq2seq-lm", 512, 128]);
  });

  it("have Accelerate's loop where they have no trainer", async () => {
    const { run, padding } = await command("run_glue_no_trainer.py");
    assert.deepEqual(
      [run?.loop, run?.maxGradNorm, run?.optimizer.name],
      [{ holds: "outputs", variesLengths: true }, 0, "adamw_torch"],
    );
    assert.ok(padding);
  });
});

describe("analysis: a model that a script makes from a config of its own", () => {
  const built = async (body: string, pins?: string): Promise<TrainingRun["model"]> => {
    const text = `from transformers import *\n${body}\nTrainer(model=model, args=TrainingArguments("o")).train()\n`;
    const files = {
      "train.py": text,
      "model/config.json": JSON.stringify(BERT),
      ...(pins === undefined ? {} : { ".vramlens.yaml": `runs:\n  - match: "*"\n${pins}` }),
    };
    const { run } = await resolved(files);
    assert.ok(run);
    return run.model;
  };

  it("has the dimensions that its call gives, of the class's family", async () => {
    const gpt = await built(
      "config = GPT2Config(n_layer=3, n_embd=96, n_head=3, vocab_size=len(tok))\nmodel = GPT2LMHeadModel(config)",
    );
    assert.deepEqual(gpt.config, { model_type: "gpt2", n_layer: 3, n_embd: 96, n_head: 3 });
    assert.equal(gpt.source, "assumed");
    const neox = await built("model = GPTNeoXForCausalLM(config=transformers.GPTNeoXConfig(hidden_size=64))");
    assert.deepEqual(neox.config, { model_type: "gpt_neox", hidden_size: 64 });
    assert.equal(
      (await built('model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("./model"))')).family,
      "bert",
    );
  });

  it("gives way to published weights and to a pin", async () => {
    const beside =
      'c = GPT2Config(n_layer=3)\nmodel = AutoModelForMaskedLM.from_pretrained("./model")\nother = GPT2Model(c)';
    assert.equal((await built(beside)).family, "bert");
    assert.equal(
      (await built("model = GPT2LMHeadModel(GPT2Config(n_layer=3))", "    model: ./model\n")).family,
      "bert",
    );
  });
});

describe("analysis: what loaders and preparations say by themselves", () => {
  it("prepare_model_for_kbit_training switches checkpointing on, unless it is told not to", async () => {
    const load = 'model = AutoModelForSequenceClassification.from_pretrained("./model")\n';
    const prepared = await runOf(`${load}model = prepare_model_for_kbit_training(model)`);
    assert.ok(prepared.checkpointing);
    const plain = await runOf(
      `${load}model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)`,
    );
    assert.equal(plain.checkpointing, null);
  });

  const unsloth = async (load: string, adapt: string): Promise<TrainingRun> => {
    const { run } = await resolved({
      "train.py": `from unsloth import FastLanguageModel, FastVisionModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, tok = ${load}\nmodel = ${adapt}\nSFTTrainer(model=model, args=SFTConfig(max_length=64, per_device_train_batch_size=1))\n`,
      "model/config.json": JSON.stringify({ ...TINY_LLAMA, architectures: ["LlamaForCausalLM"] }),
    });
    assert.ok(run);
    return run;
  };

  it("Unsloth loads half precision, checkpoints in its own way and adapts all layers where none are named", async () => {
    const run = await unsloth(
      'FastLanguageModel.from_pretrained("./model", max_seq_length=64)',
      "FastLanguageModel.get_peft_model(model, r=4)",
    );
    assert.equal(run.loadDtype, "bfloat16");
    assert.deepEqual(run.checkpointing, { useReentrant: true, offloads: true, rewritten: true });
    assert.deepEqual([run.adapter?.rank, run.adapter?.targetModules], [4, "all-linear"]);
    const seen = await unsloth(
      'FastVisionModel.from_pretrained("./model", dtype="float16", use_gradient_checkpointing=False)',
      'FastVisionModel.get_peft_model(model, r=2, target_modules=["q_proj"])',
    );
    assert.deepEqual([seen.loadDtype, seen.checkpointing, seen.adapter?.rank], ["float16", null, 2]);
  });
});
