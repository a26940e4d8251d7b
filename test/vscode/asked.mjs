/** What a person is asked and told beside the numbers: how many GPUs, the log, where it is switched off, which plans there are. */
import { strict as assert } from "node:assert";
import { join } from "node:path";
import { accessibilityProblems } from "./lib/axe.mjs";
import { eventually } from "./lib/workbench.mjs";

const TRAIN = [
  "model_name_or_path: Qwen/Qwen2.5-7B",
  "output_dir: out",
  "bf16: true",
  "per_device_train_batch_size: 4",
  "gradient_accumulation_steps: 8",
  "max_length: 2048",
];
const text = (...lines) => `${lines.join("\n")}\n`;
const DEEPSPEED = JSON.stringify({ bf16: { enabled: true }, zero_optimization: { stage: 3 } }, null, 2);
const pinned = (device) => text("runs:", `  - device: ${device}`);

/** The workspace: a folder for each test. */
export const RUNS = {
  "count/train.yaml": text(...TRAIN, "deepspeed: ds.json"),
  "count/ds.json": DEEPSPEED,
  "count/.vramlens.yaml": pinned("RTX 4090"),
  "job/train.yaml": text(...TRAIN, "deepspeed: ds.json"),
  "job/ds.json": DEEPSPEED,
  "job/run.sbatch": text(
    "#!/bin/bash",
    "#SBATCH --nodes=1",
    "#SBATCH --gres=gpu:4",
    "srun torchrun --nproc_per_node=4 train.py train.yaml",
  ),
  "job/.vramlens.yaml": pinned("RTX 4090"),
  "apple/train.yaml": text(...TRAIN).replace("Qwen2.5-7B", "Qwen2.5-3B"),
  "apple/.vramlens.yaml": pinned("M3 Max 36GB"),
  "named/train.yaml": text(...TRAIN).replace("Qwen/Qwen2.5-7B", "someone/private-model"),
  "named/model/config.json": JSON.stringify({ model_type: "gpt2", n_layer: 2, n_embd: 64, n_head: 2, vocab_size: 512 }),
};

const status = (workbench) => workbench.page.locator(".part.statusbar");
const rows = (workbench) => workbench.page.locator(".quick-input-list .monaco-list-row");

/** Titles of the plans that the command lists for the open file. */
async function plansOf(workbench) {
  await eventually("the finding", async () => (await workbench.squiggles()) > 0);
  await workbench.command("VRAM Lens: Preview a Plan");
  await eventually("the plans", async () => /GiB/.test((await rows(workbench).allInnerTexts()).join()));
  return (await rows(workbench).allInnerTexts()).join("\n");
}

/** Tests of one window, in order. */
export const ASKED = [
  {
    name: "how many GPUs is stated by a fix, and the verdict follows",
    run: async (workbench, pictures) => {
      await workbench.openFile("count/train.yaml");
      await eventually("a finding", async () => (await workbench.page.locator("[class*=squiggly-]").count()) > 0);
      const titles = await workbench.openQuickFixes("deepspeed: ds.json");
      const title = titles.find((one) => /^State \d+ GPUs/.test(one));
      assert.ok(title, titles.join("\n"));
      await workbench.screenshot(join(pictures, "gpu-count.png"));
      await workbench.takeQuickFix(title);
      await eventually("the total of each GPU", async () =>
        /\d+\.\d\s*\/\s*23\.5 GiB/.test(await status(workbench).innerText()),
      );
      await workbench.command("VRAM Lens: Open Panel");
      const panel = await workbench.webview("h1.verdict");
      await eventually("the verdict", async () => /per GPU/.test(await panel.locator("h1").innerText()));
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "gpu-count-stated.png"));
      await workbench.page.keyboard.press("Control+1");
    },
  },
  {
    name: "a model that nobody knows is chosen from the catalogue by a fix",
    run: async (workbench, pictures) => {
      await workbench.openFile("named/train.yaml");
      await eventually("a finding", async () => (await workbench.page.locator("[class*=squiggly-]").count()) > 0);
      const titles = await workbench.openQuickFixes("model_name_or_path");
      assert.ok(titles.includes("Point to a local folder…"), titles.join("\n"));
      await workbench.screenshot(join(pictures, "unknown-model.png"));
      await workbench.takeQuickFix("Choose from the catalogue…");
      await rows(workbench).first().waitFor();
      await workbench.page.keyboard.type("qwen2.5-0.5b");
      await eventually("the model", async () =>
        /^Qwen\/Qwen2.5-0.5B/.test((await rows(workbench).allInnerTexts())[0] ?? ""),
      );
      await workbench.screenshot(join(pictures, "catalogue.png"));
      await workbench.page.keyboard.press("Enter");
      await eventually("the total", async () => /\d+\.\d GiB/.test(await status(workbench).innerText()));
    },
  },
  {
    name: "plans of a job ask for no more GPUs than it is granted",
    run: async (workbench, pictures) => {
      await workbench.openFile("job/train.yaml");
      const plans = await plansOf(workbench);
      await workbench.screenshot(join(pictures, "plans-job.png"));
      assert.doesNotMatch(plans, /^\d+ GPUs/m, plans);
      assert.match(plans, /^\d+\.\d GiB · \u2212\d+\.\d GiB · /m, "the figures have a line of their own");
      await workbench.closeQuick();
    },
  },
  {
    name: "plans for an Apple GPU need nothing of CUDA",
    run: async (workbench, pictures) => {
      await workbench.openFile("apple/train.yaml");
      const plans = await plansOf(workbench);
      await workbench.screenshot(join(pictures, "plans-apple.png"));
      assert.doesNotMatch(plans, /8-bit|4-bit|QLoRA|Flash|Liger|paged|host memory/i, plans);
      await workbench.closeQuick();
    },
  },
  {
    // What its lines say is held by test/server: this VS Code has no native modules, and so no log files.
    name: "the log is shown by its command",
    run: async (workbench) => {
      await workbench.command("VRAM Lens: Show Logs");
      const output = workbench.page.locator(".part.panel");
      await output.locator("select", { hasText: "VRAM Lens" }).first().waitFor();
      await workbench.command("View: Hide Panel");
    },
  },
  {
    name: "switching off asks where, and so does switching on",
    run: async (workbench, pictures) => {
      await workbench.openFile("job/train.yaml");
      await eventually("the finding", async () => (await workbench.squiggles()) > 0);
      await workbench.command("VRAM Lens: Switch On or Off");
      await eventually("where", async () => /This workspace/.test((await rows(workbench).allInnerTexts()).join()));
      await workbench.screenshot(join(pictures, "switch-off.png"));
      await workbench.pickRow("This workspace");
      await eventually("no finding", async () => (await workbench.squiggles()) === 0);
      await eventually("no total", async () => !/GiB/.test(await status(workbench).innerText()));
      // The message with the way back may have gone to the bell by now.
      await workbench.command("VRAM Lens: Switch On or Off");
      await workbench.pickRow("This workspace");
      await eventually("the finding again", async () => (await workbench.squiggles()) > 0);
    },
  },
];
