/** The page of formats in `docs/`, made from the tables of keys. */
import { EFFECTS } from "../words/en/effects";
import { FORMATS } from "./index";
import { JOB_KEYS } from "./jobs/keys";
import type { Format, KeySpec, SchemaId } from "./types";

/** What a person calls each format, and where it is found. */
const TITLES: Readonly<Record<SchemaId, readonly [string, string]>> = {
  deepspeed: ["DeepSpeed", "JSON read as DeepSpeed reads it (HJSON)"],
  "hf-training-arguments": [
    "Hugging Face TrainingArguments",
    "YAML, JSON, flags of scripts, Python calls (loops of one's own, too), notebooks",
  ],
  trl: ["TRL", "YAML, JSON, flags of scripts, Python calls, notebooks"],
  accelerate: ["Accelerate", "YAML or JSON of `accelerate config`"],
  axolotl: ["Axolotl", "YAML"],
  "llama-factory": ["LLaMA-Factory", "YAML, JSON, flags of `llamafactory-cli`; the v1 schema too"],
  "ms-swift": ["ms-swift", "YAML, JSON, flags of `swift` and `megatron`"],
  torchtune: ["torchtune", "YAML, `tune run` in scripts"],
  torchtitan: ["torchtitan", "TOML, the Python registry, flags of scripts"],
  megatron: ["Megatron-LM", "flags of scripts (arrays and strings of flags), YAML"],
  "gpt-neox": ["gpt-neox", "YAML"],
  "llm-foundry": ["llm-foundry", "YAML, plain and inside MCLI jobs"],
  nanotron: ["nanotron", "YAML"],
  lightning: ["Lightning and litgpt", "YAML of the Lightning CLI, litgpt and Hydra templates, Python calls"],
  verl: ["verl", "Hydra YAML, overrides in scripts"],
  openrlhf: ["OpenRLHF", "flags of scripts, YAML"],
  nemo: ["NeMo", "Hydra YAML, overrides in scripts"],
  diffusers: ["diffusers", "flags of its training scripts"],
  nnunet: ["nnU-Net", "plans, `nnUNetv2_train`"],
  ultralytics: ["Ultralytics", "`args.yaml`, `yolo` in scripts, Python"],
  timm: ["timm", "`args.yaml`, flags of `train.py`"],
  mmengine: ["OpenMMLab", "Python configs"],
  detectron2: ["detectron2", "YAML, `train_net.py` in scripts"],
};

/** Memory-relevant keys of all formats of an id, each once. */
function keysOf(formats: readonly Format[]): readonly KeySpec[] {
  const keys = new Map<string, KeySpec>();
  for (const format of formats)
    for (const key of format.keys) if (key.memory && !keys.has(key.key)) keys.set(key.key, key);
  return [...keys.values()];
}

function row(key: KeySpec): string {
  const aliases =
    key.aliases === undefined || key.aliases.length === 0
      ? ""
      : `, ${key.aliases.map((alias) => `\`${alias}\``).join(", ")}`;
  const fallback =
    key.default === undefined || key.default === null || key.default === "" ? "" : `\`${String(key.default)}\``;
  return `| \`${key.key}\`${aliases} | ${fallback} | ${EFFECTS[key.effect].replaceAll("|", "\\|")} |`;
}

/** Markdown of `docs/formats.md`. */
export function formatsPage(): string {
  const ids = [...new Set(FORMATS.map((format) => format.id))].sort();
  const lines = [
    "# Formats",
    "",
    "What VRAM Lens reads, and the keys of each format that change GPU memory. Made from the tables in `src/formats` by `npx tsx scripts/formats-page.ts`.",
    "",
    "| format | id | where it is found |",
    "|---|---|---|",
    ...ids.map((id) => `| [${TITLES[id][0]}](#${id}) | \`${id}\` | ${TITLES[id][1]} |`),
    "",
  ];
  for (const id of ids) {
    const keys = keysOf(FORMATS.filter((format) => format.id === id));
    lines.push(
      `<a id="${id}"></a>`,
      "",
      `## ${TITLES[id][0]}`,
      "",
      "| key | default | what it does |",
      "|---|---|---|",
      ...keys.map(row),
      "",
    );
  }
  lines.push(
    '<a id="jobs"></a>',
    "",
    "## Jobs of clusters",
    "",
    "SkyPilot's tasks and Kubernetes' jobs (Job, JobSet, PyTorchJob, MPIJob, …) are scripts in YAML: what they run is read as a shell reads it,",
    "in whichever format it is, and a config that they start knows what they say. `#SBATCH` lines ask for the same.",
    "",
    "| key | what it says |",
    "|---|---|",
    ...JOB_KEYS.map(
      ({ key, aliases = [], effect }) =>
        `| ${[key, ...aliases].map((name) => `\`${name}\``).join(", ")} | ${EFFECTS[effect]} |`,
    ),
    "",
  );
  return lines.join("\n");
}
