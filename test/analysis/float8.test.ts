/** Keys that multiply in 8 bits, by the library that does it. */
import { strict as assert } from "node:assert";
import type { Float8Spec } from "../../src/core/training/run";
import { TINY_LLAMA } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

async function float8(
  files: Readonly<Record<string, string>>,
  main: string,
): Promise<readonly [Float8Spec | null | undefined, readonly string[]]> {
  const pins = `runs:\n  - match: "${main}"\n    model: ./model\n    sequence_length: 64\n`;
  const { run, suppositions } = await resolveFiles(
    { ...files, ".vramlens.yaml": pins, "model/config.json": JSON.stringify(TINY_LLAMA) },
    main,
  );
  return [run?.float8, suppositions.map(({ message }) => message.id)];
}

const ACCELERATE =
  "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nmixed_precision: fp8\nnum_processes: 1\n";
const TRAINING = {
  "train.sh": "accelerate launch --config_file acc.yaml train.py train.yaml\n",
  "train.yaml": "per_device_train_batch_size: 2\noutput_dir: out\n",
};

describe("analysis: 8-bit products", () => {
  it("are torchao's through accelerate, all but the first and last layer, unless it names Transformer Engine", async () => {
    const [spec, said] = await float8({ ...TRAINING, "acc.yaml": ACCELERATE }, "train.yaml");
    assert.deepEqual(spec, {
      backend: "torchao",
      recipe: "tensorwise",
      keeps: "first-and-last",
      cachesWeights: false,
    });
    assert.ok(said.includes("assume.fp8-backend"));
    const [engine, more] = await float8(
      { ...TRAINING, "acc.yaml": `${ACCELERATE}fp8_config:\n  backend: TE\n` },
      "train.yaml",
    );
    assert.equal(engine?.backend, "transformer-engine");
    assert.equal(engine?.keeps, "none");
    assert.ok(more.includes("assume.transformer-engine") && !more.includes("assume.fp8-backend"));
  });

  it("leave the head out in LLaMA-Factory, by the backend it names", async () => {
    const base =
      "model_name_or_path: ./model\nstage: sft\nfinetuning_type: full\ndataset: d\ntemplate: llama3\nbf16: true\n";
    const lines = `${base}per_device_train_batch_size: 1\noutput_dir: out\nfp8: true\n`;
    const [spec] = await float8({ "l.yaml": lines }, "l.yaml");
    assert.deepEqual([spec?.backend, spec?.keeps], ["torchao", "head"]);
    const [engine] = await float8({ "l.yaml": `${lines}fp8_backend: te\n` }, "l.yaml");
    assert.equal(engine?.backend, "transformer-engine");
  });

  it("keep Transformer Engine's weights in Megatron", async () => {
    const line =
      "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 " +
      "--max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 1 --bf16 --fp8-format hybrid\n";
    const [spec] = await float8({ "train.sh": line }, "train.sh");
    assert.deepEqual([spec?.backend, spec?.cachesWeights], ["transformer-engine", true]);
  });

  it("are torchtitan's when its converters say so, with the recipe and the layers left out", async () => {
    const toml =
      '[model]\nname = "llama3"\nflavor = "8B"\nconverters = ["float8"]\n[training]\nseq_len = 64\nlocal_batch_size = 1\n' +
      '[float8]\nrecipe_name = "rowwise"\nfilter_fqns = ["output"]\n';
    const [spec] = await float8({ "t.toml": toml }, "t.toml");
    assert.deepEqual(spec, { backend: "torchao", recipe: "rowwise", keeps: "head", cachesWeights: false });
  });
});
