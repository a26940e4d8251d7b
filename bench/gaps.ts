/** The longest gap of the built server's event loop while it answers for runs that take long. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LanguageClient } from "./client";

const root = join(__dirname, "..");

const GRPO =
  "model_name_or_path: meta-llama/Llama-3.2-1B-Instruct\noutput_dir: o\nreward_funcs: x\nbf16: true\nnum_generations: 8\n";
const PINS = (sequence: number): string =>
  `runs:\n  - match: train.yaml\n    model: ./model\n    task: causal-lm\n    sequence_length: ${sequence}\n    dtype: bfloat16\n    device: A100-80GB\n`;
const TRAIN = (batch: number): string => `output_dir: o\nper_device_train_batch_size: ${batch}\nbf16: true\n`;
const LLAMA = {
  model_type: "llama",
  hidden_size: 2048,
  intermediate_size: 8192,
  num_hidden_layers: 16,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128256,
};
const MAMBA = {
  model_type: "mamba",
  hidden_size: 768,
  intermediate_size: 1536,
  state_size: 16,
  num_hidden_layers: 24,
  vocab_size: 50280,
  expand: 2,
  conv_kernel: 4,
  time_step_rank: 48,
};
const NARROW = { hidden_size: 64, intermediate_size: 128, num_attention_heads: 4, num_key_value_heads: 4 };

/** Files of each case. */
export const CASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  GRPO: { "train.yaml": `${GRPO}per_device_train_batch_size: 8\nmax_completion_length: 1024\n` },
  "GRPO, steps_per_generation 100,000": { "train.yaml": `${GRPO}steps_per_generation: 100000\n` },
  "GRPO, max_completion_length 1e9": { "train.yaml": `${GRPO}max_completion_length: 1000000000\n` },
  "DeepSeek-V3 with LoRA": {
    "train.yaml":
      "model_name_or_path: deepseek-ai/DeepSeek-V3\noutput_dir: o\nmax_length: 2048\nbf16: true\nuse_peft: true\nlora_target_modules: all-linear\n",
  },
  "Llama-3.1-8B": { "train.yaml": "model_name_or_path: meta-llama/Llama-3.1-8B\noutput_dir: o\nbf16: true\n" },
  "Mamba, 2,048 tokens, adapters aside": {
    "train.yaml": TRAIN(4),
    ".vramlens.yaml": PINS(2048),
    "model/config.json": JSON.stringify(MAMBA),
  },
  "batch 999,999": {
    "train.yaml": TRAIN(999_999),
    ".vramlens.yaml": PINS(2048),
    "model/config.json": JSON.stringify(LLAMA),
  },
  "3,000 layers of width 64": {
    "train.yaml": TRAIN(1),
    ".vramlens.yaml": PINS(128),
    "model/config.json": JSON.stringify({ ...LLAMA, ...NARROW, num_hidden_layers: 3000, vocab_size: 1000 }),
  },
};

/** One case after the other in one server. */
export async function gapFigures(): Promise<readonly { readonly what: string; readonly milliseconds: number }[]> {
  const folder = mkdtempSync(join(tmpdir(), "vram-lens-gaps-"));
  const probe = join(__dirname, "delay.cjs");
  const child = spawn(process.execPath, ["-r", probe, join(root, "dist", "server.js"), "--stdio"], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  try {
    const gap = (): Promise<number> =>
      new Promise((resolve) => {
        child.stderr.once("data", (data: Buffer) => resolve(Number(/gap ([\d.]+)/.exec(data.toString())?.[1])));
        child.kill("SIGUSR2");
      });
    const client = new LanguageClient(child.stdout, child.stdin);
    await client.initialize(folder);
    await gap();
    const figures: { what: string; milliseconds: number }[] = [];
    for (const [index, [what, files]] of Object.entries(CASES).entries()) {
      for (const [name, text] of Object.entries(files)) {
        const path = join(folder, String(index), name);
        mkdirSync(join(path, ".."), { recursive: true });
        writeFileSync(path, text);
      }
      await client.openAndWait(join(folder, String(index), "train.yaml"));
      figures.push({ what, milliseconds: await gap() });
    }
    return figures;
  } finally {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}
