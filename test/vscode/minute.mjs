/** The first minute with a config of one's own: from the installed package to a run that fits, as a person goes who read nothing. */
import { strict as assert } from "node:assert";
import { join } from "node:path";
import { eventually } from "./lib/workbench.mjs";

/** A config as it comes from a tutorial; nothing says which GPU. */
export const CONFIG = {
  "train.yaml": [
    "model_name_or_path: Qwen/Qwen2.5-1.5B",
    "output_dir: out",
    "bf16: true",
    "per_device_train_batch_size: 16",
    "gradient_accumulation_steps: 1",
    "max_length: 2048",
    "learning_rate: 2.0e-5",
    "num_train_epochs: 1",
    "",
  ].join("\n"),
};

const BATCH = "per_device_train_batch_size";

/** Tests of one window, in order; each leaves a picture. */
export const FIRST_MINUTE = [
  {
    name: "from the installed package to a config that fits, in under a minute",
    run: async (workbench, pictures) => {
      const { page } = workbench;
      const picture = (name) => workbench.screenshot(join(pictures, `${name}.png`));
      const started = performance.now();
      await workbench.openFile("train.yaml");
      const status = page.locator(".part.statusbar");
      await eventually("the peak in the status bar", async () => /\d+\.\d GiB/.test(await status.innerText()));
      await page.keyboard.press("Control+b");
      await workbench.hover(BATCH, (said) => said.includes("This key:") && !said.includes("Loading..."));
      await picture("1-hover");
      await page.keyboard.press("Escape");
      await workbench.quick("F1", "VRAM Lens: Choose GPU");
      const input = page.locator(".quick-input-widget input[type=text]");
      await input.fill("4090");
      await page.locator(".quick-input-list .monaco-list-row", { hasText: "RTX 4090" }).first().waitFor();
      await picture("2-gpu");
      await workbench.pickRow("RTX 4090");
      await workbench.pickRow("This workspace");
      await eventually("the finding", async () => (await workbench.squiggles()) > 0);
      const titles = await workbench.openQuickFixes(BATCH);
      await picture("3-fix");
      await workbench.takeQuickFix(titles[0]);
      await eventually("the squiggle to go", async () => (await workbench.squiggles()) === 0);
      await eventually("the new total", async () => /\d+\.\d\s*\/\s*\d+\.\d GiB/.test(await status.innerText()));
      const seconds = (performance.now() - started) / 1000;
      await workbench.rest();
      await picture("4-fits");
      console.log(`         ${seconds.toFixed(0)} s from the first key to the config that fits, by a machine's hand`);
      assert.ok(seconds < 60, `${seconds} s`);
    },
  },
];
