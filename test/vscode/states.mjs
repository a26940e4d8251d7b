/** The panel where something is missing: a config, a GPU, the model, or a file that can be read. */
import { strict as assert } from "node:assert";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessibilityProblems } from "./lib/axe.mjs";
import { eventually } from "./lib/workbench.mjs";

const TRAIN = "output_dir: out\nper_device_train_batch_size: 4\nmax_steps: 100\nbf16: true\nlearning_rate: 1.0e-5\n";
const PIN = "runs:\n  - match: train.yaml\n    sequence_length: 512\n";

/** Writes a config of its own into the workspace and opens it. */
async function openConfig(workbench, folder, name, files) {
  mkdirSync(join(folder, name));
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, name, path), text);
  await workbench.openFile(`${name}/train.yaml`);
}

/** Tests of one window, in order; `folder` is its workspace. */
export const STATES = [
  {
    name: "without a config the panel says what to open",
    run: async (workbench, pictures) => {
      await workbench.command("VRAM Lens: Open Panel");
      const panel = await workbench.webview("h1");
      await panel.getByRole("heading", { name: "No training config open" }).waitFor();
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "state-no-config.png"));
      // Beside nothing there is no second column: a file would open over it.
      await workbench.command("View: Close Editor");
    },
  },
  {
    name: "without a GPU the peak is shown and a GPU asked for",
    run: async (workbench, pictures, { folder }) => {
      const pins = `${PIN}    model: ./../llama-1b/model\n    task: causal-lm\n`;
      await openConfig(workbench, folder, "no-gpu", { "train.yaml": TRAIN, ".vramlens.yaml": pins });
      await workbench.command("VRAM Lens: Open Panel");
      const panel = await workbench.webview("h1.verdict");
      await panel.getByRole("heading", { name: "Which GPU?" }).waitFor();
      await panel.getByRole("img", { name: /Peak memory by component/ }).waitFor();
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "state-no-gpu.png"));
      await panel.getByRole("region", { name: "Which GPU?" }).getByRole("button", { name: "Choose GPU" }).click();
      await workbench.page.locator(".quick-input-widget").getByText("Custom size or name").waitFor();
      await workbench.page.keyboard.press("Escape");
    },
  },
  {
    name: "a model that nobody knows is asked for, and the answer settles it",
    run: async (workbench, pictures, { folder }) => {
      // With the focus in the editor the file opens there, not over the panel.
      const box = await eventually("the file's text", () => workbench.find("output_dir"));
      await workbench.page.mouse.click(box.x + 2, box.y + box.height / 2);
      const text = `model_name_or_path: someone/private-model\n${TRAIN}`;
      await openConfig(workbench, folder, "unknown", { "train.yaml": text, ".vramlens.yaml": PIN });
      const panel = await workbench.webview("h1.verdict");
      const callout = panel.getByRole("region", { name: "Name the model" });
      await callout.waitFor();
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "state-unknown-model.png"));
      const field = callout.getByRole("textbox");
      await field.fill("Qwen/Qwen2.5-0.5B");
      await field.press("Enter");
      await panel.getByRole("img", { name: /Peak memory by component/ }).waitFor();
      await callout.waitFor({ state: "detached" });
    },
  },
  {
    name: "a file that is half typed keeps the last good verdict in sight, and says so",
    run: async (workbench, pictures) => {
      const panel = await workbench.webview("h1.verdict");
      const box = await eventually("the file's text", () => workbench.find("bf16"));
      await workbench.page.mouse.click(box.x + 2, box.y + box.height / 2);
      await workbench.page.keyboard.type("[{");
      await eventually("the squiggle", async () => (await workbench.squiggles()) > 0);
      await panel.getByText("Shown is the last good verdict.").waitFor();
      assert.match(await panel.locator("h1").innerText(), /^No GPU chosen \d/);
      // Half typed, the line would be no setting: the run would count as one in fp32.
      assert.match(await panel.locator("p.run").innerText(), /bf16/);
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "state-broken.png"));
    },
  },
];
