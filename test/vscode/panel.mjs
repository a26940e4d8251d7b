/** What a person does in the panel: read, try values, jump to a setting, settle an assumption, use the keys alone. */
import { strict as assert } from "node:assert";
import { join } from "node:path";
import { accessibilityProblems } from "./lib/axe.mjs";
import { timesAsked } from "./lib/tools.mjs";
import { eventually } from "./lib/workbench.mjs";

const FILE = "llama-1b/train.yaml";

/** Opens the sample and the panel, and returns the panel's frame once it shows the verdict. */
async function openPanel(workbench) {
  await workbench.openFile(FILE);
  await workbench.command("VRAM Lens: Open Panel");
  const panel = await workbench.webview("h1.verdict");
  await eventually("the verdict", async () => /does not fit/i.test(await heading(panel)));
  return panel;
}

/** Puts the cursor into the file: what opens next opens beside the panel, not in its place. */
async function focusEditor(workbench, text = "seed") {
  const box = await eventually("the file's text", () => workbench.find(text));
  await workbench.page.mouse.click(box.x + 2, box.y + box.height / 2);
}

const heading = (panel) => panel.locator("h1").first().innerText();

/** The option of a what-if control, by the names a person reads. */
const option = (panel, control, value) =>
  panel.getByRole("group", { name: control }).locator(".option", { has: panel.getByText(value, { exact: true }) });

/** Tests of one window, in order. */
export const PANEL = [
  {
    name: "the panel has a verdict, a bar, a timeline, a table and no accessibility problem",
    run: async (workbench, pictures) => {
      const panel = await openPanel(workbench);
      await panel.getByRole("img", { name: /Peak memory by component: Weights/ }).waitFor();
      await panel.getByRole("slider", { name: "Allocated memory over the step" }).waitFor();
      await panel.getByRole("table", { name: "What takes the memory at the peak" }).waitFor();
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "panel.png"));
    },
  },
  {
    name: "trying a value shows the difference and leaves the file alone",
    run: async (workbench, pictures) => {
      const panel = await workbench.webview("h1.verdict");
      const before = await workbench.text();
      await option(panel, "Micro-batch", "2").click();
      await eventually("the what-if", async () => /^What if: Fits.*−\d+\.\d GiB/s.test(await heading(panel)));
      assert.equal(await workbench.text(), before);
      await workbench.screenshot(join(pictures, "panel-what-if.png"));
      assert.deepEqual(await accessibilityProblems(panel), []);
      await panel.getByRole("button", { name: "Reset" }).click();
      await eventually("the file's verdict", async () => /^Does not fit/.test(await heading(panel)));
    },
  },
  {
    name: "what was tried goes into the file with one click, and undo takes it back",
    run: async (workbench) => {
      const panel = await workbench.webview("h1.verdict");
      const before = await workbench.text();
      await option(panel, "Gradient checkpointing", "on").click();
      await eventually("the what-if", async () => /^What if:/.test(await heading(panel)));
      await panel.getByRole("button", { name: "Apply to files" }).click();
      await eventually("the edit", async () => /gradient_checkpointing: true/.test(await workbench.text()));
      await eventually("the verdict of the file", async () => !/^What if:/.test(await heading(panel)));
      await focusEditor(workbench);
      await workbench.page.keyboard.press("Control+z");
      await eventually("the text to be as before", async () => (await workbench.text()) === before);
      await eventually("the option of the file", () =>
        option(panel, "Gradient checkpointing", "off").locator("input").isChecked(),
      );
    },
  },
  {
    name: "every option says what it would do before it is chosen",
    run: async (workbench) => {
      const panel = await workbench.webview("h1.verdict");
      const delta = option(panel, "Micro-batch", "1").locator(".delta");
      await eventually("a difference", async () => /^−\d+\.\d$/.test(await delta.innerText()));
    },
  },
  {
    name: "a stage of the step-by-step plan is applied, and the run then fits as promised",
    run: async (workbench, pictures) => {
      const panel = await workbench.webview("h1.verdict");
      const before = await workbench.text();
      const stages = panel.locator(".panel-stages");
      await stages.getByRole("heading", { name: "Essentials" }).waitFor();
      await panel.getByText("Largest micro-batch").first().waitFor();
      assert.deepEqual(await accessibilityProblems(panel), []);
      const promised = /\d+\.\d(?= ?GiB|\u00a0GiB)/.exec(await stages.locator(".stage-end").last().innerText())?.[0];
      assert.ok(promised);
      await stages
        .getByRole("button", { name: /^Apply: / })
        .last()
        .click();
      await eventually("the verdict of the stage", async () => /^(?:Fits|Tight)/.test(await heading(panel)));
      assert.ok((await heading(panel)).includes(promised), promised);
      await workbench.screenshot(join(pictures, "panel-stage.png"));
      await focusEditor(workbench);
      await workbench.page.keyboard.press("Control+z");
      await eventually("the text to be as before", async () => (await workbench.text()) === before);
    },
  },
  {
    name: "batch by length is drawn, and a place of the map is tried",
    run: async (workbench, pictures) => {
      const panel = await workbench.webview("h1.verdict");
      await panel.getByRole("button", { name: /^Draw the peak/ }).click();
      const map = panel.locator("table.sweep");
      await map.waitFor();
      await map.scrollIntoViewIfNeeded();
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "panel-sweep.png"));
      await map
        .getByRole("button", { name: /^Micro-batch 4, 1,?024 tokens/ })
        .click()
        .catch(async () => {
          await map
            .getByRole("button", { name: /^Micro-batch 4, / })
            .first()
            .click();
        });
      await eventually("the tried values", async () => /What if/.test(await heading(panel)));
      await panel.getByRole("button", { name: "Reset" }).click();
      await eventually("the file's values", async () => !/What if/.test(await heading(panel)));
    },
  },
  {
    name: "all runs of the workspace are checked on demand",
    run: async (workbench, pictures) => {
      await workbench.command("VRAM Lens: Check All Configs of the Workspace");
      const tree = workbench.page.locator(".pane", { hasText: "Training Runs" }).last();
      await workbench.command("Explorer: Focus on Training Runs View");
      await tree.getByText("gpt2-scratch/train.yaml").waitFor({ timeout: 60_000 });
      await eventually("four runs", async () => (await tree.locator(".monaco-list-row").count()) >= 4);
      await workbench.screenshot(join(pictures, "tree.png"));
    },
  },
  {
    name: "cards are compared on request",
    run: async (workbench, pictures) => {
      const panel = await workbench.webview("h1.verdict");
      await panel.getByRole("button", { name: /^Compare more/ }).click();
      await panel.getByRole("columnheader", { name: "Largest batch" }).waitFor();
      await panel.getByRole("rowheader", { name: /^2 × / }).waitFor();
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "panel-compared.png"));
    },
  },
  {
    name: "a card of the comparison is chosen where it stands; the editor asks where to keep it",
    run: async (workbench) => {
      const panel = await workbench.webview("h1.verdict");
      await panel
        .getByRole("button", { name: /A100-SXM4-80GB/ })
        .first()
        .click();
      const places = workbench.page.locator(".quick-input-widget");
      await places.getByText("This workspace").waitFor();
      await workbench.page.keyboard.press("Escape");
      await places.waitFor({ state: "hidden" });
      assert.match(await heading(panel), /RTX 4090/);
    },
  },
  {
    name: "from a run that does not fit to one that does: the first plan, one click, and the reason beside it",
    run: async (workbench) => {
      const panel = await workbench.webview("h1.verdict");
      const before = await workbench.text();
      const card = panel.locator(".card.first");
      assert.ok((await card.locator(".why").innerText()).length > 20);
      const promised = /\d+\.\d/.exec(await card.locator(".big").innerText())?.[0];
      assert.ok(promised);
      await card.getByRole("button", { name: /^Preview/ }).click();
      await eventually("the changes to be shown", async () => (await workbench.text()) !== before);
      assert.match(await heading(panel), /^Does not fit/);
      await workbench.command("View: Close Editor");
      await focusEditor(workbench);
      await card.getByRole("button", { name: /^Apply/ }).click();
      await eventually("the verdict of the plan", async () => /^Fits/.test(await heading(panel)));
      assert.ok((await heading(panel)).includes(promised), promised);
      await focusEditor(workbench);
      await workbench.page.keyboard.press("Control+z");
      await eventually("the text to be as before", async () => (await workbench.text()) === before);
      await eventually("the file's verdict", async () => /^Does not fit/.test(await heading(panel)));
    },
  },
  {
    name: "the timeline is read with the keys",
    run: async (workbench) => {
      const panel = await workbench.webview("h1.verdict");
      const slider = panel.getByRole("slider", { name: "Allocated memory over the step" });
      await slider.focus();
      const said = () => slider.getAttribute("aria-valuetext");
      await slider.press("Home");
      await eventually("the first point", async () => (await slider.getAttribute("aria-valuenow")) === "0");
      const first = await said();
      await slider.press("PageDown");
      await eventually("the next phase", async () => (await said()) !== first);
      await slider.press("p");
      await eventually("the peak", async () => /^backward, \d+\.\d GiB/.test(await said()));
    },
  },
  {
    name: "the timeline is read by module, with each size in sight",
    run: async (workbench, pictures) => {
      const panel = await workbench.webview("h1.verdict");
      await panel.getByRole("button", { name: "Modules", exact: true }).click();
      const slider = panel.getByRole("slider", { name: "Allocated memory over the step" });
      await slider.focus();
      await workbench.page.keyboard.press("ArrowRight");
      const bubble = panel.locator(".bubble");
      await eventually("what modules hold", async () => /model\.layers/.test(await bubble.innerText()));
      const [around, within] = [await slider.boundingBox(), await bubble.boundingBox()];
      assert.ok(within.x >= around.x && within.x + within.width <= around.x + around.width + 1, JSON.stringify(within));
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "timeline-modules.png"));
      await panel.getByRole("button", { name: "Parts", exact: true }).click();
    },
  },
  {
    name: "the breakdown opens to modules and leads to the setting",
    run: async (workbench) => {
      const panel = await workbench.webview("h1.verdict");
      const row = panel.getByRole("button", { name: "Activations", exact: true });
      await row.press("Enter");
      await panel.getByText("model.layers.*", { exact: false }).first().waitFor();
      assert.equal(await row.getAttribute("aria-expanded"), "true");
      assert.equal(await row.evaluate((element) => element === element.ownerDocument.activeElement), true);
      await panel
        .getByRole("button", { name: /^Go to per_device_train_batch_size in train\.yaml/ })
        .first()
        .click();
      await eventually("the cursor in the setting's line", async () =>
        /Ln \d+/.test(await workbench.page.locator(".part.statusbar").innerText()),
      );
    },
  },
  {
    name: "what was tried and opened survives hiding the panel",
    run: async (workbench) => {
      let panel = await workbench.webview("h1.verdict");
      await option(panel, "Micro-batch", "4").click();
      await eventually("the what-if", async () => /^What if:/.test(await heading(panel)));
      await workbench.command("File: New Untitled Text File");
      await workbench.command("View: Close Editor");
      panel = await workbench.webview("h1.verdict");
      await eventually("the what-if again", async () => /^What if:/.test(await heading(panel)));
      const row = panel.getByRole("button", { name: "Activations", exact: true });
      assert.equal(await row.getAttribute("aria-expanded"), "true");
      await panel.getByRole("button", { name: "Reset" }).click();
    },
  },
  {
    name: "an assumption is settled by its field",
    run: async (workbench, pictures) => {
      await focusEditor(workbench);
      await workbench.openFile("qwen2.5-7b-lora/train.yaml");
      const panel = await workbench.webview("h1.verdict");
      await panel.getByText("qwen2.5-7b-lora/train.yaml").waitFor();
      const field = panel.getByRole("textbox", { name: "Value of sequence_length" });
      await field.fill("none");
      await field.press("Enter");
      await panel.locator(".notice.bad").waitFor();
      await field.fill("1024");
      await field.press("Enter");
      await field.waitFor({ state: "detached" });
      await panel.getByText("8 × 1,024 tokens").or(panel.getByText("4 × 1,024 tokens")).first().waitFor();
      await workbench.screenshot(join(pictures, "panel-settled.png"));
    },
  },
  {
    name: "the report goes to the clipboard as Markdown",
    run: async (workbench) => {
      const panel = await workbench.webview("h1.verdict");
      await panel.getByRole("button", { name: "Export" }).click();
      await panel.getByRole("button", { name: "Copy as Markdown" }).click();
      await panel.locator(".notice.good").waitFor();
      await panel.locator(".notice").click();
    },
  },
  {
    name: "the report is saved as JSON, SVG and PNG",
    run: async (workbench) => {
      const panel = await workbench.webview("h1.verdict");
      for (const name of ["JSON", "SVG", "PNG"]) {
        await panel.getByRole("button", { name: "Export" }).click();
        await panel.getByRole("button", { name: new RegExp(name) }).click();
        const dialog = workbench.page.locator(".quick-input-widget");
        await dialog.getByRole("textbox").waitFor();
        await workbench.page.keyboard.press("Enter");
        await panel.locator(".notice.good", { hasText: `.vram.${name.toLowerCase()}` }).waitFor();
        await panel.locator(".notice").click();
      }
    },
  },
  {
    name: "the GPU of this machine is asked for by a click, and not before",
    run: async (workbench, pictures, { tools }) => {
      const panel = await workbench.webview("h1.verdict");
      assert.equal(timesAsked(tools), 0);
      await panel.getByRole("button", { name: "GPU of this machine" }).click();
      await panel.getByText("6.0 of 24.0 GiB used, 18.0 GiB free").waitFor();
      assert.equal(timesAsked(tools), 1);
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "panel-local-card.png"));
      await panel.getByRole("button", { name: "Ask again" }).click();
      await eventually("another question", () => timesAsked(tools) === 2);
    },
  },
  {
    name: "what is offloaded has bars of its own: host memory and the drive",
    run: async (workbench, pictures) => {
      await focusEditor(workbench, "output_dir");
      await workbench.openFile("llama-8b-zero3/train.json");
      const panel = await workbench.webview("h1.verdict");
      await panel.getByText("llama-8b-zero3/train.json").waitFor();
      const host = panel.locator(".panel-host");
      assert.equal(await host.count(), 0);
      await option(panel, "Optimizer state", "CPU").click();
      await host.getByRole("heading", { name: "Host memory" }).waitFor();
      await host.locator(".meter-host-pageable, .meter-host-pinned").first().waitFor({ state: "attached" });
      await option(panel, "Optimizer state", "NVMe").click();
      await host.locator(".meter-host-nvme").waitFor({ state: "attached" });
      assert.match(await host.innerText(), /NVMe\s*\d+\.\d\sGiB/);
      assert.deepEqual(await accessibilityProblems(panel), []);
      await host.scrollIntoViewIfNeeded();
      await workbench.screenshot(join(pictures, "panel-host.png"));
      await panel.getByRole("button", { name: "Reset" }).click();
      await host.waitFor({ state: "detached" });
    },
  },
  {
    name: "in 320 pixels nothing is cut off, and nothing moves where motion is to be reduced",
    run: async (workbench, pictures) => {
      const { page } = workbench;
      const panel = await workbench.webview("h1.verdict");
      const { width, height } = page.viewportSize();
      const now = await panel.evaluate(() => window.innerWidth);
      await page.setViewportSize({ width: Math.round(width - 2 * (now - 320)), height });
      await eventually("a narrow panel", async () => (await panel.evaluate(() => window.innerWidth)) < 360);
      await page.emulateMedia({ reducedMotion: "reduce" });
      const found = await panel.evaluate(() => ({
        overflow: document.documentElement.scrollWidth - window.innerWidth,
        moving: document.getAnimations().length,
        transitions: [...document.querySelectorAll("*")].filter(
          (element) => Number.parseFloat(getComputedStyle(element).transitionDuration) > 0,
        ).length,
      }));
      assert.ok(found.overflow <= 0, `${found.overflow} pixels too wide`);
      assert.equal(found.moving + found.transitions, 0);
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "panel-narrow.png"));
      await page.emulateMedia({ reducedMotion: "no-preference" });
      await page.setViewportSize({ width, height });
    },
  },
  {
    name: "the panel comes back after the window is reloaded, as it was left",
    run: async (workbench, pictures) => {
      let panel = await workbench.webview("h1.verdict");
      await option(panel, "Micro-batch", "1").click();
      await eventually("the what-if", async () => /^What if:/.test(await heading(panel)));
      const loaded = workbench.page.waitForEvent("load");
      await workbench.command("Developer: Reload Window");
      await loaded;
      // A window that starts takes longer than anything a person does in it.
      panel = await eventually("the panel", () => workbench.webview("h1.verdict").catch(() => undefined), 120_000);
      await eventually("the what-if again", async () => /^What if:/.test(await heading(panel)));
      await workbench.screenshot(join(pictures, "panel-reloaded.png"));
    },
  },
];

/** The panel in a window whose language is Simplified Chinese. */
export const CHINESE = [
  {
    name: "the panel is Chinese throughout and has no accessibility problem",
    run: async (workbench, pictures) => {
      await workbench.openFile(FILE);
      await workbench.command("VRAM Lens: 打开面板");
      const panel = await workbench.webview("h1.verdict");
      await eventually("the verdict", async () => /^放不下/.test(await heading(panel)));
      await panel.getByRole("heading", { name: "分步方案" }).waitFor();
      assert.equal(await panel.locator("html").getAttribute("lang"), "zh-CN");
      // Names of models, cards, keys and methods stay as they are, but none of them is two words in small letters.
      assert.deepEqual((await panel.locator("body").innerText()).match(/.*[a-z]{2,} [a-z]{2,}.*/g) ?? [], []);
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "panel.png"));
      await option(panel, "微批大小", "2").click();
      await eventually("the what-if", async () => /^试算：\s*放得下/.test(await heading(panel)));
      await panel.getByRole("button", { name: "还原" }).click();
    },
  },
];
