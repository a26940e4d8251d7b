/** What opens and does not close, what repeats a sign that starts something, and patterns that ask for more than they say. */
import { LLAMA } from "../analysis/whole-runs";
import type { Seed } from "./seeds";

const RUN = "model_name_or_path: ./model\noutput_dir: o\nper_device_train_batch_size: 2\n";
const MODEL = { "model/config.json": JSON.stringify({ ...LLAMA, num_hidden_layers: 2, vocab_size: 512 }) };
const MANY = 20_000;

function config(more: string, beside: Seed["files"] = {}): Seed {
  return { main: "train.yaml", files: { ...MODEL, ...beside, "train.yaml": `${RUN}${more}\n` } };
}

/** Modules of LoRA by a pattern. */
const modules = (pattern: string): Seed => config(`use_peft: true\nlora_target_modules: ${JSON.stringify(pattern)}`);

/** Runs by a glob. */
const matched = (glob: string): Seed =>
  config("", { ".vramlens.yaml": `runs:\n  - match: ${JSON.stringify(glob)}\n    sequence_length: 64\n` });

const alone = (main: string, text: string): Seed => ({ main, files: { [main]: text } });
const python = (text: string): Seed => alone("train.py", `${text}\nTrainingArguments(output_dir="o")\n`);
const LAUNCH = "accelerate launch train.py --output_dir o --model_name_or_path none/such\n";

export const OPENING: Readonly<Record<string, Seed>> = {
  "repeats of repeats": modules("((a{0,100}){0,100}){0,100}"),
  "a repeat of a million": modules("x{1000000}"),
  "an alternation of modules": modules(Array.from({ length: MANY }, (_, k) => `m${k}`).join("|")),
  "a look behind a repeat": modules("(?<=(a+)+)b"),
  "groups that are not closed": modules("(".repeat(MANY)),
  "groups in groups": modules(`${"(".repeat(MANY)}a${")".repeat(MANY)}`),
  "a class of ranges": modules(`[${"a-z".repeat(MANY)}]`),
  "a class that is not closed": modules(`[${"a".repeat(MANY)}`),
  "flags without end": modules(`${"(?i)".repeat(2000)}x`),
  "a pattern that depends on a group": modules("(a)?(?(1)b|c)"),
  "a glob of choices": matched(`${"{a,b}".repeat(25)}train.yaml`),
  "a glob of choices in choices": matched(`${"{".repeat(2000)}${"}".repeat(2000)}`),
  "a glob of a range": matched("{1..100000000}.yaml"),
  "a glob of groups": matched(`${"+(*a|".repeat(200)}x${")".repeat(200)}`),
  "a glob of folders": matched(`${"**/*/".repeat(200)}train.yam`),
  "a device of many words": config("", {
    ".vramlens.yaml": `runs:\n  - match: train.yaml\n    device: "${"A100 80GB x ".repeat(2000)}"\n`,
  }),
  "requirements of brackets": config("", {
    "requirements.txt": `torch${"[".repeat(MANY)}\ntorch${" ".repeat(MANY)}==\ntorch${"=<>".repeat(MANY)}\n`,
  }),
  "a path that stays where it is": config(`deepspeed: ${"./".repeat(MANY)}x.json`),
  "empty lines before a package": config(`${"\n \t".repeat(MANY)}\n# @package _global_`),
  "maps in maps": config(`x: ${"{a: ".repeat(5000)}`),
  "aliases of aliases": config(
    Array.from({ length: 2000 }, (_, k) => `a${k}: &a${k} [${k === 0 ? 1 : `*a${k - 1}, *a${k - 1}`}]`).join("\n"),
  ),
  "lists in lists": alone("ds.json", `{"train_micro_batch_size_per_gpu": 1, "zero_optimization": ${"[".repeat(MANY)}`),
  "tables in tables": alone("job.toml", `${"[".repeat(MANY)}\n${"a.".repeat(MANY)}b = 1\n[model]\nname = "llama3"\n`),
  "lines that go on": alone("Dockerfile", `FROM x\nRUN ${"\\\n".repeat(MANY)}${LAUNCH}CMD [${'"a\\"'.repeat(MANY)}`),
  "texts of texts": alone("run.sh", `${"cat <<A <<B <<C\n".repeat(2000)}${LAUNCH}`),
  "commands in commands": alone("run.sh", `${"a=$(".repeat(5000)}\n${"${a:-".repeat(5000)}\n${LAUNCH}`),
  "quotes in quotes": alone("run.sh", `${"'\"".repeat(MANY)}\n${LAUNCH}`),
  "formats in formats": python(`x = ${"f'{".repeat(2000)}`),
  "a statement that goes on": python(`x = 1${" \\\n".repeat(MANY)}`),
};
