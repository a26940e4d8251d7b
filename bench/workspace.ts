/** A workspace of a thousand configs: the first result of an opened file, and the result after an edit. */
import { createAnalyzer } from "../src/analysis";
import { LLAMA } from "../test/analysis/whole-runs";
import { MemoryFiles, memoryRuntime } from "./memory";

const ROOT = "file:///work";
const PROJECTS = 200;
const MODEL = JSON.stringify(LLAMA);

/** Five configs of one project, linked as people link them. */
function project(index: number): Readonly<Record<string, string>> {
  const at = `${ROOT}/projects/p${index}`;
  return {
    [`${at}/train.yaml`]: `model_name_or_path: ./model\ndataset_name: d\noutput_dir: out\nper_device_train_batch_size: ${1 + (index % 8)}\nbf16: true\nmax_length: 512\ndeepspeed: ds.json\n`,
    [`${at}/ds.json`]: `{"zero_optimization": {"stage": ${index % 4}}, "train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}}\n`,
    [`${at}/run.sh`]: "accelerate launch --config_file acc.yaml --num_processes 4 train.py --config train.yaml\n",
    [`${at}/acc.yaml`]:
      "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 4\nmixed_precision: bf16\n",
    [`${at}/axolotl.yml`]:
      "base_model: ./model\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nsequence_len: 512\nadapter: lora\nlora_r: 16\ndatasets: []\n",
    [`${at}/model/config.json`]: MODEL,
  };
}

export interface WorkspaceFigure {
  readonly what: string;
  readonly target: string;
  /** Milliseconds. */
  readonly durations: readonly number[];
}

function workspace(): MemoryFiles {
  const files = new MemoryFiles();
  for (let index = 0; index < PROJECTS; index++)
    for (const [uri, text] of Object.entries(project(index))) files.write(uri, text);
  return files;
}

async function measured(body: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await body();
  return performance.now() - started;
}

const OPENED: readonly (readonly [string, string])[] = [
  ["a trainer's config", "train.yaml"],
  ["a DeepSpeed file, whose runs are looked for", "ds.json"],
  ["a launch script", "run.sh"],
];

/** Results for each kind of file: the first one in a fresh server, and those after edits. */
export async function workspaceFigures(rounds = 9): Promise<readonly WorkspaceFigure[]> {
  const figures: WorkspaceFigure[] = [];
  for (const [kind, name] of OPENED) {
    const first: number[] = [];
    const edited: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const files = workspace();
      const analyzer = createAnalyzer({ ...memoryRuntime(files), workspaceFolders: [ROOT] });
      const uri = `${ROOT}/projects/p${100 + round}/${name}`;
      first.push(await measured(() => analyzer.analyse(uri, { device: "A100-80GB" })));
      const before = (await files.readText(uri)) ?? "";
      for (let edit = 0; edit < 5; edit++) {
        files.write(uri, before + (name.endsWith(".json") ? " ".repeat(edit + 1) : `# ${edit}\n`));
        edited.push(
          await measured(() => {
            analyzer.invalidate(uri);
            return analyzer.analyse(uri, { device: "A100-80GB" });
          }),
        );
      }
    }
    figures.push({ what: `1,000 configs: first result for ${kind}`, target: "< 300 ms", durations: first.slice(1) });
    figures.push({
      what: `1,000 configs: result after an edit of ${kind}`,
      target: "< 50 ms",
      durations: edited.slice(5),
    });
  }
  return figures;
}
