/** Everything that was published, and the words of its page. */
import { FOUNDRY_OUTCOMES } from "./foundry";
import { LITGPT, LITGPT_OUTCOMES } from "./litgpt";
import { BLOG_OUTCOMES } from "./outcomes";
import { PEFT } from "./peft";
import { QWEN } from "./qwen";
import { RECIPES } from "./recipes";
import { SHARDED } from "./sharded";
import { TRANSFORMERS } from "./transformers";
import type { PublishedOutcome, PublishedPeak, Source } from "./types";

export const PEAKS: readonly PublishedPeak[] = [...PEFT, ...TRANSFORMERS, ...SHARDED, ...RECIPES, ...LITGPT, ...QWEN];

export const OUTCOMES: readonly PublishedOutcome[] = [...BLOG_OUTCOMES, ...LITGPT_OUTCOMES, ...FOUNDRY_OUTCOMES];

const GITHUB = "https://github.com";
const LITGPT_AT = `${GITHUB}/Lightning-AI/litgpt/blob/26857050fe3ff627cd714fe92f5838f51a3d5efa`;
const PEFT_AT = `${GITHUB}/huggingface/peft/tree/5d602fdbff04c33c1c4de55cda9d4ae1d7cb7e40`;

export const SOURCES: Readonly<Record<string, Source>> = {
  "peft-metamath": {
    title: "PEFT, method comparison on MetaMathQA",
    url: `${PEFT_AT}/method_comparison/MetaMathQA/results`,
    measured: "most reserved over 5000 steps on an L40S; torch 2.13, transformers 5.13",
    miss: "lengths",
  },
  "peft-guides": {
    title: "PEFT, guides to QLoRA with DeepSpeed and FSDP",
    url: `${PEFT_AT}/docs/source/accelerate`,
    measured: "“memory consumed per GPU”, two cards",
    miss: "sharded-4bit",
  },
  "transformers-one-gpu": {
    title: "transformers, training on one GPU (2022)",
    url: `${GITHUB}/huggingface/transformers/blob/0016acf7ef421c7fe8eff7945de52c71896c3b01/docs/source/en/perf_train_gpu_one.mdx`,
    measured: "NVML after the run on a V100 of 16 GB, CUDA 11.2; the bare context took 1343 MiB",
    miss: "torch-1.10",
  },
  "ml-engineering": {
    title: "Machine Learning Engineering, when to upgrade GPUs",
    url: `${GITHUB}/stas00/ml-engineering/blob/744d01e18b79512572f64a6bbd8b5f4a725203a7/insights/when-to-upgrade-gpus/README.md`,
    measured: "most reserved of the worst rank, eight H200; torch 2.13, transformers 5.14, DeepSpeed 0.19.2",
    miss: "whole-model",
  },
  torchtitan: {
    title: "torchtitan, Llama 3.1 on H100 (December 2024)",
    url: `${GITHUB}/pytorch/torchtitan/blob/b5bcd76c66d0acb1a08b176d9639425bc55e0b2a/benchmarks/llama3_h100_202412_torchtitan.md`,
    measured: "most reserved, as torchtitan logs it",
    miss: "torchtitan-savers",
  },
  torchtune: {
    title: "torchtune, README, “Optimization flags”",
    url: `${GITHUB}/pytorch/torchtune/blob/bd2a0fc7c31430972728494fa01aaeeb0ebf1ba1/README.md`,
    measured: "peak active memory on an A100",
    miss: "torchtune-savers",
  },
  "ms-swift": {
    title: "ms-swift, examples",
    url: `${GITHUB}/modelscope/ms-swift/tree/3602360a562313afbf2ef6065fdf61f271a2c5b9/examples/train`,
    measured: "a comment at the head of each script",
    miss: "gathered-holes",
  },
  axolotl: {
    title: "axolotl, examples",
    url: `${GITHUB}/axolotl-ai-cloud/axolotl/tree/067b021c8b87a9e5e380b9173c704cf7340e30f5/examples`,
    measured: "“uses about … VRAM”",
    miss: "axolotl-round",
  },
  "litgpt-tables": {
    miss: "older-code",
    title: "litgpt, resource tables (October 2023)",
    url: `${LITGPT_AT}/tutorials/resource-tables.md`,
    measured: "`torch.cuda.max_memory_allocated` on an A100 of 40 GB; torch 2.1, bitsandbytes 0.41.1",
  },
  "litgpt-hub": {
    miss: "older-code",
    title: "litgpt, config hub (2024)",
    url: `${LITGPT_AT}/config_hub/finetune/README.md`,
    measured: "`torch.cuda.max_memory_allocated` on an A10G",
  },
  "qwen-readme": {
    title: "Qwen, README, “Profiling of Memory and Speed” (2023)",
    url: `${GITHUB}/QwenLM/Qwen/blob/2df8e8ac450fa185c421a08b0090ef81826caa6e/README.md`,
    measured: "an A100 of 80 GB; torch 2.0",
    miss: "qwen1",
  },
  "llm-foundry": {
    title: "llm-foundry, MPT training benchmarks",
    url: `${GITHUB}/mosaicml/llm-foundry/blob/8c8dd48f72168c5d51e2f7b151595892a8fba43d/scripts/train/benchmarking/README.md`,
    measured: "throughput of runs that ran, on A100 of 40 and 80 GB and H100",
  },
  "blog-4bit": {
    title: "Hugging Face, 4-bit models with bitsandbytes (2023)",
    url: `${GITHUB}/huggingface/blog/blob/1b4d85d958048f85f13b749fd305136a94df97e2/4bit-transformers-bitsandbytes.md`,
    measured: "whether the run went out of memory",
    miss: "blog-script",
  },
};

export const ASSUMPTIONS: Readonly<Record<string, string>> = {
  longest: "the longest batch is as long as the stated limit allows",
  qwen1: "Qwen 1's own code counted as Qwen 1.5's, which has the same dimensions and three projections for one",
  litgpt: "litgpt's own model code, of a later release",
  "litgpt-bnb": "bitsandbytes 0.41, as litgpt required then",
  "guide-deepspeed": "DeepSpeed 0.14, the newest when the guides were written",
  torchtune: "torchtune's own model code, of a later release",
  torchtitan: "torchtitan's own model code, of a later release",
  "llm-foundry": "llm-foundry's own model code, of a later release",
  axolotl: "card not said; models of the same dimensions from the catalogue",
  "blog-script": "adapters of rank 64 on query and value, products under autocast: the script was not read",
};

/** Why an estimate and a figure differ. */
export const MECHANISMS: Readonly<Record<string, string>> = {
  "older-code":
    "Measured with an earlier release of the framework; the code that was captured is that of its newest one.",
  "hub-lengths":
    "The estimate has every batch at 512 tokens; samples of the sets it was measured on are mostly shorter, and vocabularies of 256,000 words make the logits the larger part.",
  lengths:
    "Batches of every length fragment the pool: what one step's sizes left behind does not fit the next one's. The estimate replays equal steps of the longest.",
  "sharded-4bit":
    "The guides show a screenshot and do not say what was measured: what is left over from gathering eighty layers of flat parameters, one after the other, is the likely part.",
  "torch-1.10":
    "Under float16 autocast the mask that transformers 4 always adds is float32 and raises the scores with it (`modeling_utils.py`, `get_extended_attention_mask`), 0.75 GiB; the graphs are transformers 5's, where a batch without padding has none. 0.4 GiB stay without a reason. (Memory of 8-bit Adam in 2022 is 0.02 GiB below the band.)",
  "whole-model":
    "The script loads the model before DeepSpeed knows of it, so `engine.py` moves all 15 GiB onto every card before they are split (`_configure_distributed_model`): a floor, which is counted. 1.2 GiB above it, and 3.1 GiB at 32,768 tokens, stay without a reason that a document tells: gathered weights and gradients wait for another stream before their blocks serve again (`record_stream`), the longer the further the host is ahead of the card.",
  "flash-buffers":
    "0.2 GiB above the band: buffers inside FlashAttention-3's backward, which no operator's result shows.",
  "boft-on-host":
    "The benchmark loads the model onto the card and puts the adapters on afterwards: the permutations, a float32 matrix as wide as the layer for each of 56, stay on the host (2 GiB), where the Trainer would move them.",
  "torchtune-savers":
    "The guide does not say which optimizer it is, or whether it is fused; a fused one spares 6 GiB of temporaries in the first of them. In the other, offloaded activations break the compiled layers up: they are counted as eager.",
  "torchtitan-savers":
    "The model is that of a later torchtitan. Which products its selective checkpointing kept in December 2024 is not followed; the band is narrower since its own code runs, and these figures show that it is too narrow.",
  "olmo3-cce":
    "The figure is that of a run whose logits are held: without the plugin's loss the estimate is 11.0 GiB allocated, 12.5 GiB reserved.",
  "axolotl-round":
    "A round figure; the same model with a larger optimizer is published at 21 GB and estimated at 21.05 GiB.",
  qwen1:
    "The run used Qwen 1's remote code, which was not captured; whether “G” is 10⁹ or 2³⁰ bytes is not said. Up to 4096 tokens the rows of 7B and 14B agree within 5 % but for three of Q-LoRA; those of 1.8B exceed the estimate by 0.3 to 1.2 GiB (in 10⁹ bytes). At 8192 tokens the figures grow by less than the logits alone do: Q-LoRA ran under DeepSpeed in float16, where no autocast raises the loss, so four times the logits cost half of what is counted (1.2 MiB a token, as the rows of 1.8B grow).",
  "gathered-holes":
    "The figure lies between the allocated peak (37.4 GiB) and the pool that is replayed around it (46.2 GiB): which holes the gathered weights of ZeRO-3 fall into depends on the order they are fetched in, which is taken to be that of the layers.",
  "blog-script":
    "The benchmarking script behind the table was not read; these two runs would need 4 to 5 GiB more than estimated, the others agree.",
};
