/** What a model is trained for, when its config does not say it: the catalogue's word. */
import { strict as assert } from "node:assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { DocumentStore } from "../../src/analysis/documents/store";
import { gather } from "../../src/analysis/linking/inputs";
import { readCatalogue } from "../../src/analysis/models/catalogue";
import { resolveRun } from "../../src/analysis/resolve";
import type { ReportRun } from "../../src/core/report/schema";
import type { TrainingRun } from "../../src/core/training/run";
import { graphsOf } from "../core/receipts/case";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const GRAPHS = join(__dirname, "../../models/graphs");

const { architectures: _, ...CONFIG } = TINY_LLAMA;

async function runOf(task?: string): Promise<ReportRun> {
  const entry = { name: "org/tiny", parameters: 1, config: CONFIG, ...(task === undefined ? {} : { task }) };
  const catalogue = JSON.stringify({ schema: "vram-lens/catalogue/1", mirrors: [], models: [entry] });
  const files = {
    "train.yaml": "output_dir: out\nmodel_name_or_path: org/tiny\nper_device_train_batch_size: 2\n",
    ".vramlens.yaml": 'runs:\n  - match: "*.yaml"\n    sequence_length: 128\n',
  };
  const runtime = memoryRuntime(files, { "catalogue.json": catalogue });
  const [run] = (await createAnalyzer(runtime).analyse(uri("train.yaml"), {})).runs;
  assert.ok(run);
  return run;
}

const assumed = (run: ReportRun) => run.assumptions.some(({ settleWith }) => settleWith === "task");
const head = (run: ReportRun) => run.perDevice?.components.find(({ kind }) => kind === "logits-and-loss")?.bytes ?? 0;

describe("analysis: task of a catalogued model", () => {
  it("is taken from the catalogue, absent meaning causal language modelling", async () => {
    const language = await runOf();
    assert.equal(assumed(language), false);
    const classifier = await runOf("seq-cls");
    assert.equal(assumed(classifier), false);
    assert.ok(head(classifier) < head(language));
  });

  it("is assumed where the catalogue names a task that is not modelled", async () => {
    assert.equal(assumed(await runOf("none")), true);
  });
});

describe("analysis: what has one value only is not assumed", () => {
  it("Megatron-LM's program for language models trains nothing else", async () => {
    const flags = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --vocab-size 1000";
    const files = { "run.sh": `torchrun --nproc_per_node 1 pretrain_gpt.py ${flags} --micro-batch-size 2 --bf16\n` };
    const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("run.sh"), {})).runs;
    assert.ok(run?.perDevice);
    assert.equal(assumed(run), false);
  });
});

/** The run that a config gives whose model is in the folder. */
async function runWith(config: Readonly<Record<string, unknown>>, train: string, pins?: string): Promise<TrainingRun> {
  const runtime = memoryRuntime({
    "train.yaml": train,
    "model/config.json": JSON.stringify(config),
    ...(pins === undefined ? {} : { ".vramlens.yaml": `runs:\n  - match: "*.yaml"\n${pins}` }),
  });
  const store = new DocumentStore(runtime.files);
  const document = await store.load(uri("train.yaml"));
  assert.ok(document?.recognised);
  const inputs = await gather(document, document.recognised.format, {
    runtime,
    store,
    catalogue: await readCatalogue(runtime),
    graphs: async (family) => (existsSync(join(GRAPHS, `${family}.json`)) ? graphsOf(family) : undefined),
    modelOverride: undefined,
  });
  const { run } = resolveRun(inputs, {});
  assert.ok(run);
  return run;
}

describe("analysis: task of a model class", () => {
  const TRAIN = "output_dir: out\nmodel_name_or_path: ./model\nper_device_train_batch_size: 2\n";
  const taskFor = async (config: Readonly<Record<string, unknown>>) => (await runWith(config, TRAIN)).task;

  it("says what is generated from what by what the model reads", async () => {
    const architectures = ["XForConditionalGeneration"];
    assert.equal(await taskFor({ model_type: "whisper", architectures, num_mel_bins: 80 }), "speech-seq2seq");
    assert.equal(await taskFor({ model_type: "x_vl", architectures, vision_config: {} }), "image-text-to-text");
    assert.equal(await taskFor({ model_type: "t5", architectures }), "seq2seq-lm");
    assert.equal(await taskFor({ model_type: "voxtral", architectures, audio_config: {} }), "speech-seq2seq");
    assert.equal(await taskFor({ model_type: "moonshine", architectures }), "speech-seq2seq");
    const git = { model_type: "git", architectures: ["GitForCausalLM"] };
    assert.equal(await taskFor({ ...git, vision_config: {} }), "image-text-to-text");
  });

  it("knows what marks answers, classifies words of a page, writes", async () => {
    assert.equal(await taskFor({ model_type: "bert", architectures: ["BertForQuestionAnswering"] }), "qa");
    assert.equal(await taskFor({ model_type: "layoutlm" }), "token-cls");
    assert.equal(await taskFor({ model_type: "dinov2" }), "image-cls");
    assert.equal(await taskFor({ model_type: "wav2vec2" }), "ctc");
    assert.equal(await taskFor({ model_type: "siglip" }), "contrastive");
    assert.equal(await taskFor({ model_type: "eurobert" }), "masked-lm");
    assert.equal(await taskFor({ model_type: "mvp" }), "seq2seq-lm");
  });

  it("knows classes of pictures, beside texts or alone", async () => {
    const task = (kind: string, named: string) => taskFor({ model_type: kind, architectures: [named] });
    assert.equal(await task("segformer", "SegformerForSemanticSegmentation"), "image-segmentation");
    assert.equal(await task("vit", "ViTForMaskedImageModeling"), "masked-image");
    const clip = { model_type: "clip", architectures: ["CLIPModel"], vision_config: { image_size: 224 } };
    const run = await runWith({ ...clip, text_config: { max_position_embeddings: 77 } }, TRAIN);
    assert.deepEqual([run.task, run.sequenceLength, run.imageSize], ["contrastive", 77, 224]);
  });

  it("knows classes of speech", async () => {
    assert.equal(await taskFor({ model_type: "wav2vec2", architectures: ["Wav2Vec2ForCTC"] }), "ctc");
    const architectures = ["Wav2Vec2ForSequenceClassification"];
    assert.equal(await taskFor({ model_type: "wav2vec2", architectures, conv_kernel: [10, 3] }), "audio-cls");
  });

  it("hears recordings of any length unless the encoder has a window of its own", async () => {
    const architectures = ["XForConditionalGeneration"];
    const samples = async (config: Readonly<Record<string, unknown>>) => (await runWith(config, TRAIN)).audioSamples;
    assert.notEqual(await samples({ model_type: "moonshine", architectures }), 0);
    assert.equal(await samples({ model_type: "voxtral", architectures, audio_config: {} }), 0);
  });

  it("counts the tokens of recordings of any length by their frames", async () => {
    const written = async (model_type: string, audio: string) =>
      (await runWith({ model_type, audio_config: {} }, TRAIN, `    task: speech-seq2seq\n${audio}`)).targetLength - 128;
    // Twelve and a half seconds: 1,250 frames.
    const audio = "    audio_seconds: 12.5\n";
    assert.equal(await written("qwen3_asr", audio), 13 * 12 + 7);
    assert.equal(await written("qwen3_omni_moe_thinker", audio), 13 * 12 + 7);
    assert.equal(await written("qwen2_5_omni_thinker", audio), 312);
    assert.equal(await written("fun_asr_nano", audio), 208);
    assert.equal(await written("voxtral", audio), 375);
    assert.equal((await written("voxtral_realtime", audio)) + 128, 157);
  });

  it("takes the thinker of a model that also speaks, and the class behind a second name", async () => {
    const thinker = {
      architectures: ["XForConditionalGeneration"],
      vision_config: { image_size: 28 },
      text_config: {},
    };
    const run = await runWith({ model_type: "qwen2_5_omni", thinker_config: thinker, talker_config: {} }, TRAIN);
    assert.deepEqual([run.model.family, run.task], ["qwen2_5_omni_thinker", "image-text-to-text"]);
    const shield = await runWith(
      { model_type: "shieldgemma2", architectures: ["ShieldGemma2ForImageClassification"], vision_config: {} },
      TRAIN,
    );
    assert.deepEqual([shield.model.family, shield.task], ["gemma3", "image-text-to-text"]);
    assert.equal((await runWith({ model_type: "qwen2_5_omni_talker" }, TRAIN)).model.family, "qwen2_5_omni_talker");
  });

  it("knows models that pair an encoder with a decoder by their classes, and what each reads", async () => {
    const pair = (named: string, encoder: Readonly<Record<string, unknown>>) => ({
      model_type: "pair",
      architectures: [named],
      encoder,
      decoder: { model_type: "gpt2" },
    });
    assert.equal(await taskFor(pair("VisionEncoderDecoderModel", {})), "image-text-to-text");
    assert.equal(await taskFor(pair("SpeechEncoderDecoderModel", {})), "speech-seq2seq");
    assert.equal(await taskFor(pair("EncoderDecoderModel", {})), "seq2seq-lm");
    assert.equal(
      await taskFor({ model_type: "speecht5", architectures: ["SpeechT5ForSpeechToText"] }),
      "speech-seq2seq",
    );
    assert.equal(await taskFor({ model_type: "t5gemma", encoder: {}, decoder: {} }), "seq2seq-lm");
    const donut = pair("VisionEncoderDecoderModel", { model_type: "donut-swin", image_size: [2560, 1920] });
    const run = await runWith({ ...donut, model_type: "vision-encoder-decoder" }, TRAIN);
    // The encoder's own sides, no prompt, and the targets that are written.
    assert.deepEqual([run.sequenceLength, run.targetLength, run.imageSize], [0, 128, 2560]);
    const florence = {
      model_type: "florence2",
      architectures: ["Florence2ForConditionalGeneration"],
      vision_config: {},
    };
    const asked = await runWith(florence, TRAIN);
    assert.deepEqual([asked.task, asked.targetLength, asked.imageSize], ["image-text-to-text", 128, 768]);
    assert.notEqual(asked.sequenceLength, 0);
  });

  it("counts a recording's tokens in the text that answers it", async () => {
    const architectures = ["XForConditionalGeneration"];
    const run = await runWith({ model_type: "qwen2_audio", architectures, audio_config: {} }, TRAIN);
    // Thirty seconds are 1500 frames of the encoder, two of them a token, before 128 tokens of the answer.
    assert.deepEqual([run.audioSamples, run.targetLength], [0, 878]);
  });

  it("rounds pictures to whole tokens or tiles of the model's processor", async () => {
    const architectures = ["XForConditionalGeneration"];
    const side = async (config: Readonly<Record<string, unknown>>) =>
      (await runWith({ architectures, ...config }, TRAIN)).imageSize;
    // 768 pixels are 27.4 tokens of 28, and two tiles of 384.
    const pixtral = { vision_config: { patch_size: 14 }, spatial_merge_size: 2 };
    assert.equal(await side({ model_type: "mistral3", ...pixtral }), 756);
    assert.equal(await side({ model_type: "llava_onevision", vision_config: { image_size: 384 } }), 768);
  });

  it("gives a model of any pictures whole tokens and what the trainer freezes", async () => {
    const config = {
      model_type: "qwen2_5_vl",
      architectures: ["Qwen2_5_VLForConditionalGeneration"],
      vision_config: { patch_size: 14 },
    };
    const train =
      "stage: sft\nmodel_name_or_path: ./model\ntemplate: qwen2_vl\nfinetuning_type: lora\ndataset: d\n" +
      "output_dir: out\nper_device_train_batch_size: 2\nimage_max_pixels: 262144\ncutoff_len: 2048\n";
    const run = await runWith(config, train);
    assert.equal(run.task, "image-text-to-text");
    // The square root of 262144 is 512, which is 18.3 tokens of 28 pixels.
    assert.equal(run.imageSize, 504);
    assert.deepEqual(run.frozenParts, ["vision", "projector"]);
  });
});

describe("analysis: multiple choice", () => {
  const BERT = { ...CONFIG, model_type: "bert", architectures: ["BertForMultipleChoice"] };
  const TRAIN = "output_dir: out\nmodel_name_or_path: ./model\nper_device_train_batch_size: 2\n";

  it("scores every choice of a question as a text of its own, with one label", async () => {
    const run = await runWith(BERT, TRAIN);
    assert.deepEqual(
      [run.task, run.choices, run.model.config["num_labels"], run.microBatchSize],
      ["multiple-choice", 4, 1, 2],
    );
  });
});
