// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the samples are shell text
/** Scripts that start a Hydra program: the config they start on is their base, and the program links to it. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import { LineIndex } from "../../src/analysis/documents/lines";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, uri } from "./memory-runtime";

type Files = Readonly<Record<string, string>>;

const PROGRAM =
  'import hydra\n@hydra.main(config_path="config", config_name="ppo_trainer", version_base=None)\ndef main(config):\n    pass\n';
const TRAINER =
  "defaults:\n  - model@actor_rollout_ref.model: hf\n  - _self_\n\ndata:\n  train_batch_size: 1024\n  max_prompt_length: 512\n  max_response_length: 512\nactor_rollout_ref:\n  actor:\n    strategy: fsdp\n    ppo_micro_batch_size_per_gpu: 4\ntrainer:\n  n_gpus_per_node: 8\n  nnodes: 1\n";
const PACKAGE = {
  "verl/trainer/main_ppo.py": PROGRAM,
  "verl/trainer/config/ppo_trainer.yaml": TRAINER,
  "verl/trainer/config/model/hf.yaml": "path: Qwen/Qwen2.5-0.5B\nenable_gradient_checkpointing: true\n",
};
const SCRIPT =
  "set -x\npython3 -m verl.trainer.main_ppo \\\n    algorithm.adv_estimator=grpo \\\n    data.max_response_length=1024 \\\n    trainer.n_gpus_per_node=4 $@\n";

async function analyse(files: Files, main: string): Promise<DocumentAnalysis> {
  return createAnalyzer(memoryRuntime(files)).analyse(uri(main), {});
}

/** Value and file of a setting of the only run. */
function settings(analysis: DocumentAnalysis, ...names: string[]): unknown[] {
  assert.equal(analysis.runs.length, 1);
  return names.map((name) => {
    const found = analysis.runs[0]?.settings.find((candidate) => candidate.name === name);
    return [found?.value, found?.uri?.replace(uri(""), "")];
  });
}

const targets = (analysis: DocumentAnalysis): string[] =>
  analysis.links().map(({ target }) => target.replace(uri(""), ""));

describe("analysis: Hydra programs", () => {
  it("takes the program's own config as the base of a script", async () => {
    const files = { ...PACKAGE, "examples/grpo/run.sh": SCRIPT };
    const analysis = await analyse(files, "examples/grpo/run.sh");
    assert.equal(analysis.runs[0]?.id, "examples/grpo/run.sh");
    assert.deepEqual(settings(analysis, "micro_batch_size", "gradient_checkpointing", "model", "world_size"), [
      [4, "verl/trainer/config/ppo_trainer.yaml"],
      [true, "verl/trainer/config/model/hf.yaml"],
      ["Qwen/Qwen2.5-0.5B", "verl/trainer/config/model/hf.yaml"],
      [4, "examples/grpo/run.sh"],
    ]);
    // 512 tokens of prompt from the config and 1024 of response from the script.
    assert.equal(settings(analysis, "sequence_length").flat()[0], 1536);
    assert.ok(targets(analysis).includes("verl/trainer/config/ppo_trainer.yaml"));
    assert.ok(
      targets(await analyse(files, "verl/trainer/main_ppo.py")).includes("verl/trainer/config/ppo_trainer.yaml"),
    );
  });

  it("finds the config that the command names, below what only the shell knows", async () => {
    const own = TRAINER.replace("max_prompt_length: 512", "max_prompt_length: 2048").replace(
      "model@actor_rollout_ref.model: hf",
      "ppo_trainer",
    );
    const files = {
      "conf/math.yaml": `hydra:\n  searchpath:\n    - pkg://verl.trainer.config\n\n${own.replace("_self_\n", "_self_\n\n")}`,
      ...Object.fromEntries(
        Object.entries(PACKAGE).map(([path, text]) => [`.venv/lib/python3.11/site-packages/${path}`, text]),
      ),
      "scripts/run.sh": `HERE="$(pwd)"\nCONF=$HERE/conf\n${SCRIPT.slice("set -x\n".length).replace("main_ppo \\", 'main_ppo --config-path="$CONF" --config-name=math \\')}`,
    };
    const analysis = await analyse(files, "scripts/run.sh");
    assert.equal(settings(analysis, "sequence_length").flat()[0], 2048 + 1024);
    assert.deepEqual(settings(analysis, "model").flat()[0], "Qwen/Qwen2.5-0.5B");
    const [link] = analysis.links().filter(({ target }) => target === uri("conf/math.yaml"));
    const text = files["scripts/run.sh"].split("\n")[link?.range.start.line ?? 0] ?? "";
    assert.equal(text.slice(link?.range.start.character, link?.range.end.character), "--config-name=math");
    const shown = await analyse(files, "conf/math.yaml");
    assert.ok(shown.runs.some(({ id }) => id === "conf/math.yaml"));
  });

  it("says in the script what is changed for its run", async () => {
    const files: Files = { ...PACKAGE, "run.sh": SCRIPT };
    const analysis = await analyse(files, "run.sh");
    const result = analysis.whatIfEdits(analysis.runs[0]?.id ?? "", {
      micro_batch_size: "2",
      gradient_checkpointing: "false",
      max_completion_length: "256",
    });
    assert.ok(result !== null && "edits" in result, JSON.stringify(result));
    assert.ok(result.edits.every((edit) => edit.uri === uri("run.sh")));
    const lines = new LineIndex(SCRIPT);
    const after = applyEdits(
      SCRIPT,
      result.edits.map(({ range, newText }) => ({
        start: lines.offset(range.start.line, range.start.character),
        end: lines.offset(range.end.line, range.end.character),
        newText,
      })),
    );
    const again = await analyse({ ...files, "run.sh": after }, "run.sh");
    assert.deepEqual(settings(again, "micro_batch_size", "gradient_checkpointing"), [
      [2, "run.sh"],
      [false, "run.sh"],
    ]);
    assert.equal(settings(again, "sequence_length").flat()[0], 768);
  });

  it("reads a script alone when its config is nowhere", async () => {
    const analysis = await analyse({ "run.sh": SCRIPT }, "run.sh");
    assert.deepEqual(settings(analysis, "world_size"), [[4, "run.sh"]]);
    const other = await analyse(
      { ...PACKAGE, "run.sh": SCRIPT.replace("main_ppo", "main_ppo --config-name=gone") },
      "run.sh",
    );
    assert.deepEqual(settings(other, "world_size"), [[4, "run.sh"]]);
  });
});
