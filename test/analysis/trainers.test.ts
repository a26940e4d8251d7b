/** TRL's trainers from configs: which trainer a document means, which models it keeps, what is said. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const DPO = `model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct
dataset_name: pairs
per_device_train_batch_size: 2
output_dir: out
dtype: bfloat16
beta: 0.1
`;

async function runsOf(text: string, name = "dpo.yaml", requirements = "") {
  const files = { [name]: text, "requirements.txt": requirements };
  const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(name), {});
  return analysis.runs;
}

async function peakOf(text: string, name?: string): Promise<number> {
  const [run] = await runsOf(text, name);
  assert.ok(run?.perDevice, run?.findings.map(({ message }) => message).join("; "));
  return run.perDevice.allocatedPeakBytes;
}

/** Weights of Qwen2.5-0.5B in bfloat16, in bytes. */
const WEIGHTS = 494_032_768 * 2;

describe("analysis: trainers of TRL", () => {
  it("DPO keeps a reference model, unless adapters are trained or it is precomputed", async () => {
    const full = await peakOf(DPO);
    const precomputed = await peakOf(`${DPO}precompute_ref_log_probs: true\n`);
    assert.ok(Math.abs(full - precomputed - WEIGHTS) < 0.01 * WEIGHTS, `${full - precomputed}`);
    const adapted = `${DPO}use_peft: true\n`;
    const [own, without] = [await peakOf(adapted), await peakOf(`${adapted}precompute_ref_log_probs: true\n`)];
    assert.ok(own - without < 0.01 * WEIGHTS, `${own - without}`);
  });

  it("says what the copy costs only where there is one, and of one GPU's shard", async () => {
    const said = async (text: string, name?: string) =>
      (await runsOf(text, name)).flatMap(({ findings }) =>
        findings.filter(({ code }) => code === "reference-model").map(({ message }) => message),
      );
    assert.match((await said(DPO)).join(), /0\.9 GiB/);
    const sharded = "deepspeed: {zero_optimization: {stage: 3}}\n# vramlens: gpus=2\n";
    assert.match((await said(`${DPO}${sharded}`)).join(), /0\.5 GiB/);
    const script = (peft: string) => `from trl import DPOConfig, DPOTrainer
args = DPOConfig(output_dir="out", per_device_train_batch_size=2, max_length=512, beta=0.1)
trainer = DPOTrainer(model="Qwen/Qwen2.5-0.5B-Instruct", args=args, train_dataset=data${peft})
`;
    assert.equal((await said(script(""), "dpo.py")).length, 1);
    assert.deepEqual(await said(script(', peft_config=peft.LoraConfig(r=8, target_modules=["q_proj"])'), "dpo.py"), []);
  });

  it("SimPO keeps none, whichever trainer's keys say it", async () => {
    const of = async (lines: string): Promise<string> => {
      const { run } = await resolveFiles({ "dpo.yaml": `${DPO}${lines}` }, "dpo.yaml");
      return `${run?.trainer?.kind} ${run?.trainer?.variant["loss"]} ${run?.trainer?.variant["reference"] ?? "none"}`;
    };
    assert.equal(await of("gamma_beta_ratio: 0.5\n"), "cpo simpo none");
    assert.equal(await of("simpo_gamma: 0.5\nloss_type: simpo\n"), "cpo simpo none");
    assert.equal(await of(""), "dpo sigmoid model");
  });

  it("is what the folder says where the keys are those of several", async () => {
    const kind = async (path: string, more = "") =>
      (await resolveFiles({ [path]: `${DPO}max_prompt_length: 128\n${more}` }, path)).run?.trainer?.kind;
    assert.equal(await kind("recipes/orpo/config.yaml"), "orpo");
    assert.equal(await kind("recipes/dpo/config.yaml"), "dpo");
    assert.equal(await kind("recipes/orpo/config.yaml", "reference_free: false\n"), "dpo");
  });

  it("SimPO's own trainer has no likelihood beside it", async () => {
    const cpo = (more: string): Promise<number> => peakOf(`${DPO}${more}`, "cpo.yaml");
    assert.equal(await cpo("gamma_beta_ratio: 0.5\n"), await cpo("simpo_gamma: 1\nloss_type: simpo\ncpo_alpha: 0\n"));
  });

  it("have their losses on models of earlier releases, which take the mask as it is", async () => {
    const pins = "transformers==4.48.3\ntrl==0.12.0\n";
    for (const mark of ["gamma_beta_ratio: 0.5", "cpo_alpha: 1", "center_rewards_coefficient: 0.01"]) {
      const [run] = await runsOf(`${DPO}${mark}\n`, "cpo.yaml", pins);
      assert.ok(run?.perDevice, run?.findings.map(({ message }) => message).join("; "));
    }
  });

  it("generate with models of earlier releases, which take the mask as it is", async () => {
    const pins = "transformers==4.48.3\ntrl==0.15.0\n";
    const [run] = await runsOf(`${DPO}num_generations: 2\nmax_completion_length: 64\n`, "grpo.yaml", pins);
    assert.ok(run?.perDevice, run?.findings.map(({ message }) => message).join("; "));
  });

  it("DPO holds the logits of chosen answers once more for their likelihood, before the fused head", async () => {
    const variant = async (version: string, more: string) => {
      const files = { "dpo.yaml": `${DPO}${more}`, "requirements.txt": `trl==${version}\n` };
      return (await resolveFiles(files, "dpo.yaml")).run?.trainer?.variant;
    };
    for (const version of ["0.24.0", "0.17.0", "0.12.1", "0.9.6"]) {
      assert.equal((await variant(version, "rpo_alpha: 1.0\n"))?.["likelihood"], true, version);
      assert.equal((await variant(version, ""))?.["likelihood"], undefined, version);
    }
    assert.equal((await variant("0.24.0", "loss_type: [ipo, sft]\n"))?.["likelihood"], true);
    assert.equal((await variant("1.9.0", "use_weighting: true\n"))?.["weighting"], true);
    assert.deepEqual(await variant("1.16.0", "rpo_alpha: 1.0\n"), await variant("1.16.0", ""));
  });

  it("reward models of every release are followed, or another's loss is said to stand for it", async () => {
    const reward = DPO.replace("beta: 0.1\n", "center_rewards_coefficient: 0.01\n");
    const says = async (version: string): Promise<boolean> => {
      const [run] = await runsOf(reward, "reward.yaml", `trl==${version}\n`);
      assert.ok(run?.perDevice, version);
      return run.assumptions.some(({ id }) => id === "assume.loss-stands" || id === "assume.liger-loss");
    };
    for (const version of ["0.12.1", "0.23.1", "0.24.0", "1.9.0", "1.16.0"])
      assert.equal(await says(version), false, version);
    assert.equal(await says("0.8.6"), true);
  });

  it("is told by the class in Python and by the command in a script", async () => {
    const python = `from trl import DPOConfig, DPOTrainer
args = DPOConfig(output_dir="out", per_device_train_batch_size=2, model_init_kwargs={"dtype": "bfloat16"})
trainer = DPOTrainer(model="Qwen/Qwen2.5-0.5B-Instruct", args=args)
`;
    const shell =
      "trl dpo --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --dtype bfloat16 --dataset_name pairs --per_device_train_batch_size 2 --output_dir out\n";
    const wanted = await peakOf(DPO);
    assert.equal(await peakOf(python, "train.py"), wanted);
    assert.equal(await peakOf(shell, "run.sh"), wanted);
  });

  it("says that everything after the first token counts as scored, and what settles it", async () => {
    const [run] = await runsOf(DPO);
    assert.ok(run?.assumptions.some(({ settleWith }) => settleWith === "max_prompt_length"));
    const [shorter] = await runsOf(`${DPO}max_prompt_length: 900\n`);
    assert.ok(!shorter?.assumptions.some(({ settleWith }) => settleWith === "max_prompt_length"));
  });

  it("holds all logits before TRL 1.15, and says whose loss stands for an older one", async () => {
    const peak = async (requirements: string): Promise<number> => {
      const [run] = await runsOf(DPO, "dpo.yaml", requirements);
      assert.ok(run?.perDevice, run?.findings.map(({ message }) => message).join("; "));
      return run.perDevice.allocatedPeakBytes;
    };
    // Log-probabilities of 4 sequences of 1023 tokens, three times as large as the vocabulary in float32.
    const logits = 4 * 1023 * 151_936 * 4;
    assert.ok((await peak("trl==1.9.0\n")) - (await peak("")) > logits);
    const runOf = async (version: string) => (await runsOf(DPO, "dpo.yaml", `trl==${version}\n`))[0];
    const says = (run: Awaited<ReturnType<typeof runOf>>): boolean =>
      run?.assumptions.some(({ id }) => id === "assume.loss-stands" || id === "assume.liger-loss") === true;
    const [same, between] = [await runOf("1.9.0"), await runOf("1.14.0")];
    assert.deepEqual([says(same), says(between)], [false, true]);
    for (const recorded of ["0.28.0", "0.24.0", "0.17.0", "0.12.1", "0.9.6"])
      assert.ok(!says(await runOf(recorded)), recorded);
    assert.ok(says(await runOf("0.8.6")));
    // A loss that was not recorded of that release has the models and logits of one that was.
    const [other] = await runsOf(`${DPO}loss_type: bco_pair\n`, "dpo.yaml", "trl==0.24.0\n");
    assert.equal(other?.perDevice?.allocatedPeakBytes, (await runOf("0.24.0"))?.perDevice?.allocatedPeakBytes);
    assert.ok(other?.assumptions.some(({ settleWith }) => settleWith === "loss_type"));
    assert.ok(between!.perDevice!.band.highBytes > 1.1 * same!.perDevice!.band.highBytes);
  });

  const AXOLOTL =
    "base_model: Qwen/Qwen2.5-0.5B-Instruct\nmicro_batch_size: 2\nsequence_len: 512\nbf16: true\ndatasets: []\n";

  it("axolotl's are those of the TRL it pins", async () => {
    const [dpo, ipo, simpo] = await Promise.all(
      ["dpo", "ipo", "simpo"].map((rl) => peakOf(`${AXOLOTL}rl: ${rl}\n`, "axolotl.yaml")),
    );
    assert.equal(dpo, ipo);
    // SimPO needs no reference model, but keeps logits for its likelihood, too.
    assert.ok(dpo! > simpo!, `${dpo! - simpo!}`);
  });

  it("axolotl leaves vLLM's share to TRL unless it says that both share the card", async () => {
    const of = async (mode: string): Promise<readonly [number, string]> => {
      const text = `${AXOLOTL}rl: grpo\ntrl:\n  use_vllm: true\n${mode}vllm:\n  gpu_memory_utilization: 0.5\n`;
      const analysis = await createAnalyzer(memoryRuntime({ "axolotl.yaml": text })).analyse(uri("axolotl.yaml"), {
        device: "80GB",
      });
      const [run] = analysis.runs;
      const said = run?.findings.find(({ code }) => code === "vllm-reservation")?.message ?? "";
      return [run?.perDevice?.allocatedPeakBytes ?? 0, said];
    };
    const [[colocated, fifty], [unasked, thirty]] = [await of("  vllm_mode: colocate\n"), await of("")];
    assert.equal(Math.round((colocated - unasked) / 2 ** 30), 16);
    assert.match(fifty, /reserves 50 %/);
    assert.match(thirty, /reserves 30 %/);
  });

  it("LLaMA-Factory's keep a reference model but for ORPO, SimPO and adapters", async () => {
    const factory = (more: string): Promise<number> =>
      peakOf(
        `model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct\nstage: dpo\ndo_train: true\ntemplate: qwen\ndataset: pairs\nbf16: true\n` +
          `per_device_train_batch_size: 1\ncutoff_len: 512\noutput_dir: out\n${more}`,
        "factory.yaml",
      );
    const full = await factory("finetuning_type: full\n");
    assert.ok(full - (await factory("finetuning_type: full\npref_loss: orpo\n")) > 0.9 * WEIGHTS);
    const adapted = await factory("finetuning_type: lora\n");
    const apart = await factory("finetuning_type: lora\nref_model: Qwen/Qwen2.5-0.5B-Instruct\n");
    assert.ok(apart - adapted > 0.9 * WEIGHTS, `${apart - adapted}`);
  });

  it("PPO keeps four models, two of them trained, and checkpoints nothing", async () => {
    const ppo = (more: string): string =>
      `from trl.experimental.ppo import PPOConfig, PPOTrainer
args = PPOConfig(output_dir="out", per_device_train_batch_size=1, response_length=32, max_prompt_length=64${more})
trainer = PPOTrainer(args=args, model="Qwen/Qwen2.5-0.5B-Instruct", ref_model=None, reward_model=rm, value_model=vm)
`;
    const [run] = await runsOf(ppo(""), "ppo.py");
    const settles = new Set(run?.assumptions.map(({ settleWith }) => settleWith));
    for (const key of ["reward_model_path", "gradient_checkpointing", "libraries"]) assert.ok(settles.has(key), key);
    const own = run?.perDevice?.allocatedPeakBytes ?? 0;
    // Four models in float32, gradients and two states of two of them.
    assert.ok(own > 0.99 * (4 + 3 * 2) * 2 * WEIGHTS, `${own}`);
    assert.equal(await peakOf(ppo(", gradient_checkpointing=False"), "ppo.py"), own);
  });

  it("PPO's script trains `sft_model_path`", async () => {
    const [run] = await runsOf(
      "accelerate launch examples/scripts/ppo/ppo.py --num_ppo_epochs 1 --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --sft_model_path Qwen/Qwen3-0.6B --reward_model_path Qwen/Qwen2.5-0.5B-Instruct --per_device_train_batch_size 1 --num_mini_batches 1 --response_length 32 --dtype bfloat16 --output_dir out --max_prompt_length 64 --dataset_name prompts\n",
      "run.sh",
    );
    assert.equal(run?.model?.name, "Qwen/Qwen3-0.6B");
    assert.ok((run.perDevice?.keyValueCacheBytes ?? 0) > 0);
  });

  it("before TRL 1.15 Liger's losses hold no logits either, which another stands for", async () => {
    const liger = async (more: string) => (await runsOf(`${DPO}${more}`, "dpo.yaml", "trl==1.9.0\n"))[0];
    const [own, fused] = [await liger(""), await liger("use_liger_kernel: true\n")];
    assert.ok(own!.perDevice!.allocatedPeakBytes - fused!.perDevice!.allocatedPeakBytes > 4 * 1023 * 151_936 * 4);
    assert.ok(fused!.assumptions.some(({ what }) => what.includes("Liger")));
  });

  it("AlphaPO is SimPO without the likelihood", async () => {
    const cpo = (more: string): Promise<number> => peakOf(`${DPO}loss_type: ${more}`, "cpo.yaml");
    const marked = (loss: string, alpha: string): Promise<number> => cpo(`${loss}\nsimpo_gamma: 0.5\n${alpha}`);
    assert.equal(await marked("alphapo", ""), await marked("simpo", "cpo_alpha: 0\n"));
  });

  it("online DPO, XPO and Nash-MD keep a reference, and a reward model where one is named or needed", async () => {
    const online = (name: string, more = ""): string =>
      `from trl.experimental.online_dpo import ${name}Config, ${name}Trainer
args = ${name}Config(output_dir="out", per_device_train_batch_size=1, max_length=128, max_new_tokens=64${more})
trainer = ${name}Trainer(model="Qwen/Qwen2.5-0.5B-Instruct", args=args)
`;
    const [run] = await runsOf(online("OnlineDPO"), "online.py");
    const own = run?.perDevice?.allocatedPeakBytes ?? 0;
    assert.ok(run?.assumptions.some(({ settleWith }) => settleWith === "reward_model_path"));
    // Two models in float32, gradients and two states of one.
    assert.ok(own > 0.99 * 5 * 2 * WEIGHTS, `${own}`);
    const rated = await peakOf(online("OnlineDPO", ', reward_model_path="Qwen/Qwen2.5-0.5B-Instruct"'), "online.py");
    assert.ok(rated - own > 1.8 * WEIGHTS * 0.7, `${rated - own}`);
    // XPO goes back through both completions in two forwards, and calls a model for the rewards.
    const [xpo] = await runsOf(online("XPO"), "xpo.py", "trl==1.9.0\n");
    assert.ok((xpo?.perDevice?.allocatedPeakBytes ?? 0) > own);
    const [nash] = await runsOf(online("NashMD"), "nash.py");
    assert.ok(nash?.assumptions.some(({ settleWith }) => settleWith === "libraries"));
    const generating = await runsOf(online("OnlineDPO", ", gradient_checkpointing=False"), "online.py");
    assert.ok((generating[0]?.perDevice?.keyValueCacheBytes ?? 0) > 0);
  });

  const ofClass = (name: string): string =>
    `from trl import ${name}Config, ${name}Trainer
args = ${name}Config(output_dir="out", per_device_train_batch_size=1, max_length=128)
trainer = ${name}Trainer(model="Qwen/Qwen2.5-0.5B-Instruct", args=args)
`;

  it("no trainer of TRL is taken for another: those without an estimate say why", async () => {
    const classes =
      "BCO AlignProp DDPO IterativeSFT TPO GFPO GMPO A2PO GRPOWithReplayBuffer AsyncGRPO AsyncDistillation Distillation ServerDistillation GOLD MiniLLM IWOPD SDFT SDPO SSD";
    for (const name of classes.split(" ")) {
      const [run] = await runsOf(ofClass(name), "train.py");
      assert.equal(run?.perDevice ?? null, null, name);
      assert.ok(
        run?.findings.some(({ code }) => code === "not-modelled"),
        name,
      );
    }
  });

  it("PRM is a token classifier under the plain trainer", async () => {
    const [prm, sft] = [await peakOf(ofClass("PRM"), "prm.py"), await peakOf(ofClass("SFT"), "sft.py")];
    // Two labels instead of a vocabulary that is tied to the embedding.
    assert.ok(prm < sft, `${prm} ${sft}`);
  });

  it("LLaMA-Factory's reward model has a value head beside its logits", async () => {
    const factory = (stage: string): Promise<number> =>
      peakOf(
        `model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct\nstage: ${stage}\ndo_train: true\ntemplate: qwen\ndataset: pairs\nbf16: true\n` +
          "finetuning_type: lora\nper_device_train_batch_size: 1\ncutoff_len: 512\noutput_dir: out\n",
        "factory.yaml",
      );
    // Chosen and rejected: twice the logits in float32.
    assert.ok((await factory("rm")) - (await factory("sft")) > 512 * 151_936 * 4);
  });

  it("that hand no pictures on have no estimate of models that read them, which is said", async () => {
    const seeing = DPO.replace("Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-VL-3B-Instruct");
    const [pairs] = await runsOf(seeing);
    assert.ok(pairs?.perDevice);
    const orpo =
      'from trl import CPOConfig, CPOTrainer\nCPOTrainer(model="Qwen/Qwen2.5-VL-3B-Instruct", args=CPOConfig())\n';
    const [run] = await runsOf(orpo, "cpo.py");
    assert.equal(run?.perDevice ?? null, null);
    assert.ok(run?.findings.some(({ code }) => code === "not-modelled"));
  });

  it("ms-swift's have losses that TRL's stand for", async () => {
    const swift =
      "model: Qwen/Qwen2.5-0.5B-Instruct\nrlhf_type: dpo\ntuner_type: full\ntorch_dtype: bfloat16\ndataset: pairs\n" +
      "per_device_train_batch_size: 1\nmax_length: 512\n";
    const [run] = await runsOf(swift, "swift.yaml");
    assert.ok(run?.perDevice, run?.findings.map(({ message }) => message).join("; "));
    assert.ok(run.assumptions.some(({ what }) => what.includes("ms-swift")));
  });

  it("GKD keeps the teacher that is named, of whatever family, else one like the student", async () => {
    const gkd = `model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct
dataset_name: messages
per_device_train_batch_size: 1
max_length: 256
output_dir: out
dtype: bfloat16
lmbda: 0.5
`;
    const [alike] = await runsOf(gkd, "gkd.yaml");
    assert.ok(alike?.assumptions.some(({ settleWith }) => settleWith === "teacher_model_name_or_path"));
    const larger = await peakOf(`${gkd}teacher_model_name_or_path: Qwen/Qwen3-1.7B\n`, "gkd.yaml");
    const more = larger - (alike?.perDevice?.allocatedPeakBytes ?? 0);
    const weights = (1_720_574_976 - 494_032_768) * 2;
    assert.ok(Math.abs(more - weights) < 0.1 * weights, `${more} for ${weights}`);
    // Without checkpointing the student generates with a cache.
    const [cached] = await runsOf(`${gkd}gradient_checkpointing: false\n`, "gkd.yaml");
    assert.ok((cached?.perDevice?.keyValueCacheBytes ?? 0) > 0);
  });

  const GRPO = `model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct
dataset_name: prompts
per_device_train_batch_size: 4
gradient_accumulation_steps: 2
num_generations: 4
max_completion_length: 128
max_prompt_length: 64
output_dir: out
dtype: bfloat16
`;

  it("GRPO generates all completions of its accumulation at once, and says with what cache", async () => {
    const [run] = await runsOf(GRPO);
    const phases = run?.perDevice?.phases.map(({ phase }) => phase) ?? [];
    assert.ok(phases.includes("generation"), phases.join());
    // 8 sequences of 191 tokens, 24 layers of 2 heads of 64 keys and 64 values, 2 bytes each
    assert.equal(run?.perDevice?.keyValueCacheBytes, 8 * 191 * 24 * 2 * (64 + 64) * 2);
  });

  it("GRPO fills the card with a paged cache where it batches continuously", async () => {
    const paged = async (more: string): Promise<readonly [number, number]> => {
      const files = {
        "dpo.yaml": `${GRPO}max_prompt_length: 900\nuse_transformers_continuous_batching: true\n${more}`,
      };
      const { runs } = await createAnalyzer(memoryRuntime(files)).analyse(uri("dpo.yaml"), { device: "A100-80GB" });
      const found = runs[0]?.perDevice;
      return [found?.keyValueCacheBytes ?? 0, found?.allocatedPeakBytes ?? 0];
    };
    const [all] = await paged("");
    const [half] = await paged("transformers_continuous_batching_config:\n  max_memory_percent: 0.45\n");
    assert.ok(all > 20 * 2 ** 30 && Math.abs(all / 2 - half) < 0.1 * all, `${all} ${half}`);
    const [blocks] = await paged("transformers_continuous_batching_config:\n  num_blocks: 10\n");
    assert.equal(blocks, 10 * 256 * 2 * 24 * 2 * 64 * 2);
  });

  it("GRPO keeps its cache as `cache_implementation` says", async () => {
    const cache = async (kind: string): Promise<number> => {
      const [run] = await runsOf(`${GRPO}max_prompt_length: 900\ncache_implementation: ${kind}\n`);
      return run?.perDevice?.keyValueCacheBytes ?? 0;
    };
    const [growing, quantized, made] = [await cache("dynamic"), await cache("quantized"), await cache("static")];
    assert.ok(quantized < 0.45 * growing, `${quantized} of ${growing}`);
    assert.ok(made >= growing);
  });

  it("GRPO's step counts what it generates, unless another machine does", async () => {
    const timeOf = async (more: string) => {
      const files = { "grpo.yaml": `${GRPO}${more}` };
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("grpo.yaml"), { device: "A100-80GB" });
      return analysis.runs[0]?.time;
    };
    const time = await timeOf("");
    assert.ok(time?.generationSeconds && time.generationSeconds.high < time.stepSeconds.high);
    assert.ok((await timeOf("max_completion_length: 512\n"))!.stepSeconds.low > time.stepSeconds.low);
    assert.equal(await timeOf("use_vllm: true\nvllm_mode: server\n"), null);
  });

  it("GRPO keeps a reference model when beta is not 0", async () => {
    const difference = (await peakOf(`${GRPO}beta: 0.04\n`)) - (await peakOf(GRPO));
    assert.ok(Math.abs(difference - WEIGHTS) < 0.01 * WEIGHTS, `${difference}`);
  });

  it("colocated vLLM takes its share of the card, and only while generating when it sleeps", async () => {
    const pins = "device: { name: 24GB, count: 1 }\n";
    const peak = async (more: string): Promise<number> => {
      const files = { "grpo.yaml": `${GRPO}use_vllm: true\n${more}`, ".vramlens.yaml": `runs:\n  - ${pins}` };
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("grpo.yaml"), {});
      return analysis.runs[0]?.perDevice?.allocatedPeakBytes ?? 0;
    };
    const elsewhere = await peak("vllm_mode: server\n");
    const beside = await peak("vllm_gpu_memory_utilization: 0.4\n");
    assert.equal(Math.round((beside - elsewhere) / 2 ** 30), Math.round(0.4 * 24));
    const asleep = await peak("vllm_gpu_memory_utilization: 0.4\nvllm_enable_sleep_mode: true\n");
    assert.ok(asleep < beside);
  });
});

describe("analysis: losses of TRL's trainers", () => {
  it("are read for TRL's runs only", async () => {
    const reads = async (text: string): Promise<boolean> => {
      const read: string[] = [];
      const runtime = memoryRuntime({ "train.yaml": text });
      const recording = {
        ...runtime,
        readModelData: (path: string) => {
          read.push(path);
          return runtime.readModelData(path);
        },
      };
      await createAnalyzer(recording).analyse(uri("train.yaml"), {});
      assert.ok(read.includes("graphs/qwen2.json"));
      return read.includes("trainers/trl.json");
    };
    const run = "output_dir: out\nmodel_name_or_path: Qwen/Qwen2.5-0.5B\nper_device_train_batch_size: 1\n";
    assert.equal(await reads(run), false);
    assert.equal(await reads(`${run}beta: 0.1\nmax_length: 64\nprecompute_ref_log_probs: false\n`), true);
  });
});
