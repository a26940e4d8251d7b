/** What a person does in the window: point, read, fix, open the panel, apply. Each entry is one test. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { accessibilityProblems } from "./lib/axe.mjs";
import { eventually } from "./lib/workbench.mjs";

const FILE = "llama-1b/train.yaml";
const BATCH = "per_device_train_batch_size";

/** Waits until the open sample is analysed, which its squiggle shows. */
async function analysed(workbench) {
  await eventually("the does-not-fit squiggle", async () => (await workbench.squiggles()) > 0);
}

/** Whether a hover shows our own answer beside what VS Code says of the finding. */
function isComplete(text) {
  return /This key:|此键：/.test(text) && !/Loading\.\.\.|正在加载/.test(text);
}

/** Tests of one window, in order; each gets the window and a folder for pictures. */
export const JOURNEY = [
  {
    name: "the mouse over the batch size shows what it costs",
    run: async (workbench, pictures) => {
      await workbench.openFile(FILE);
      await analysed(workbench);
      const said = await workbench.hover(BATCH, isComplete);
      assert.match(said, /does not fit/i);
      await workbench.screenshot(join(pictures, "hover.png"));
    },
  },
  {
    name: "the status bar shows the total against the card",
    run: async (workbench) => {
      await eventually("a status item in GiB", async () =>
        /\d+\.\d\s*\/\s*\d+(\.\d)? GiB/.test(await workbench.page.locator(".part.statusbar").textContent()),
      );
    },
  },
  {
    name: "a quick fix removes the squiggle, undo brings it back",
    run: async (workbench, pictures) => {
      const before = await workbench.text();
      const titles = await workbench.openQuickFixes(BATCH);
      await workbench.screenshot(join(pictures, "quick-fixes.png"));
      assert.match(titles[0], /GiB/, "the first fix says what it brings");
      await workbench.takeQuickFix(titles[0]);
      await eventually("the squiggle to go", async () => (await workbench.squiggles()) === 0);
      assert.notEqual(await workbench.text(), before);
      await workbench.page.keyboard.press("Control+z");
      await eventually("the text to be as before", async () => (await workbench.text()) === before);
      await analysed(workbench);
    },
  },
  {
    name: "the panel shows the breakdown, and Apply changes the file",
    run: async (workbench, pictures) => {
      const before = await workbench.text();
      await workbench.command("VRAM Lens: Open Panel");
      const panel = await workbench.webview("h1");
      const apply = panel.getByRole("button", { name: /^Apply/ }).first();
      await apply.waitFor();
      const said = await panel.locator("body").textContent();
      assert.match(said, /does not fit/i);
      assert.match(said, /weights/i);
      await workbench.rest();
      await workbench.screenshot(join(pictures, "panel.png"));
      assert.deepEqual(await accessibilityProblems(panel), []);
      await apply.click();
      await eventually("the file to change", async () => (await workbench.text()) !== before);
      await eventually("the squiggle to go", async () => (await workbench.squiggles()) === 0);
      await eventually(
        "the panel to say that it fits",
        async () =>
          /(^|[^t] )fits/i.test(await panel.locator("h1").first().textContent()) ||
          !/does not fit/i.test(await panel.locator("body").textContent()),
      );
      await workbench.screenshot(join(pictures, "panel-applied.png"));
    },
  },
];

/** The hover and the panel once more, for pictures: in another theme, or in the other language. */
const gallery = (openPanel, apply) => [
  {
    name: "hover and panel in this theme",
    run: async (workbench, pictures) => {
      await workbench.openFile(FILE);
      await analysed(workbench);
      // The side bar leaves the room to the panel.
      await workbench.page.keyboard.press("Control+b");
      // Over the value, which the finding does not underline, so that the hover is ours alone.
      // The best plan is named as soon as plans were searched.
      await workbench.hover("8", (said) => isComplete(said) && /same results|结果不变/.test(said));
      await workbench.screenshot(join(pictures, "hover.png"));
      await workbench.command(openPanel);
      const panel = await workbench.webview("h1");
      await panel.getByRole("button", { name: apply }).first().waitFor();
      await workbench.rest();
      await workbench.screenshot(join(pictures, "panel.png"));
      assert.deepEqual(await accessibilityProblems(panel), []);
    },
  },
];
export const GALLERY = gallery("VRAM Lens: Open Panel", /^Apply/);
export const CHINESE_GALLERY = gallery("VRAM Lens: 打开面板", /^应用/);

/** In Restricted Mode everything works too, as nothing of the workspace is run. */
export const RESTRICTED = [
  {
    name: "an untrusted workspace is analysed all the same",
    run: async (workbench) => {
      await workbench.page.getByText("Restricted Mode").first().waitFor();
      await workbench.openFile(FILE);
      await workbench.hover(BATCH, isComplete);
    },
  },
  {
    name: "an untrusted workspace has none of the commands that run code",
    run: async (workbench) => {
      assert.ok(await workbench.offers("VRAM Lens: Open Panel"));
      const titles = JSON.parse(readFileSync(new URL("../../package.nls.json", import.meta.url), "utf8"));
      for (const name of ["command.traceModel", "command.checkAgainstPytorch"])
        assert.equal(await workbench.offers(`VRAM Lens: ${titles[name]}`), false, titles[name]);
    },
  },
];

const RELOADS = 4;

/** The browser entry, with the server in a Web Worker. */
export const WEB = [
  {
    name: "the browser entry analyses files that only the editor can read",
    run: async (workbench, pictures) => {
      await workbench.openFile(FILE);
      // Now and then a headless browser's worker host starts without the extension that is handed to it on the way.
      for (let left = RELOADS; ; left--) {
        const answered = await workbench.hover(BATCH, isComplete, left > 0 ? 10_000 : undefined).then(
          () => true,
          (error) => {
            if (left === 0) throw error;
            return false;
          },
        );
        if (answered) break;
        await workbench.reload();
        await workbench.openFile(FILE);
      }
      await workbench.command("VRAM Lens: Open Panel");
      const panel = await workbench.webview("h1");
      await eventually("the panel's verdict", async () =>
        /does not fit/i.test(await panel.locator("h1").first().textContent()),
      );
      await workbench.rest();
      await workbench.screenshot(join(pictures, "panel.png"));
    },
  },
];

/** The package itself, installed as a person installs it. */
export const INSTALLED = [
  {
    name: "the packaged extension starts and answers",
    run: async (workbench) => {
      await workbench.openFile(FILE);
      await analysed(workbench);
      await workbench.hover(BATCH, isComplete);
      await workbench.command("VRAM Lens: Open Panel");
      await (await workbench.webview("h1"))
        .getByRole("button", { name: /^Apply/ })
        .first()
        .waitFor();
    },
  },
];
