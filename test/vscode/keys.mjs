/** The commands most used, with the keys alone: no pointer is moved. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./lib/workbench.mjs";

const FILE = "llama-1b/train.yaml";
const input = (workbench) => workbench.page.locator(".quick-input-widget input[type=text]");

/** Milliseconds after which a picker without the row is opened again. */
const AGAIN = 5000;

/**
 * Types into the picker that a key opens and takes its first row, which must begin with `row`. As a person would, it opens the
 * picker again where something has closed it or the text is lost.
 */
async function pick(workbench, key, text, row) {
  const { keyboard } = workbench.page;
  await eventually(`${row} first`, async () => {
    if (await input(workbench).isVisible()) await keyboard.press("Escape");
    await keyboard.press(key);
    const opened = input(workbench).waitFor({ state: "visible", timeout: AGAIN });
    if (!(await opened.then(() => true).catch(() => false))) return false;
    await keyboard.type(text);
    return eventually(row, async () => (await focusedRow(workbench)).startsWith(row), AGAIN).catch(() => false);
  });
  await keyboard.press("Enter");
}

async function focusedRow(workbench) {
  const row = workbench.page.locator(".quick-input-list .monaco-list-row.focused").first();
  return (await row.getAttribute("aria-label", { timeout: 1000 }).catch(() => "")) ?? "";
}

const command = (workbench, title) => pick(workbench, "F1", title, title);

/** Goes on with Tab until what has the focus in a page is called so. */
async function tabTo(workbench, panel, name) {
  await eventually(`the focus on ${name}`, async () => {
    await workbench.page.keyboard.press("Tab");
    const focused = await panel.evaluate(() => {
      const { activeElement } = document;
      return activeElement?.getAttribute("aria-label") ?? activeElement?.textContent ?? "";
    });
    return name.test(focused);
  });
}

/** Tests of one window, in order. */
export const KEYS = [
  {
    name: "a config is opened and the panel beside it",
    run: async (workbench) => {
      await pick(workbench, "Control+p", FILE, "train.yaml llama-1b");
      await command(workbench, "VRAM Lens: Open Panel");
      const panel = await workbench.webview("h1.verdict");
      await eventually("the verdict", async () => /Does not fit/.test(await panel.locator("h1").innerText()));
    },
  },
  {
    name: "the hover is read, the lights fixed and undone, without the pointer",
    run: async (workbench) => {
      const { page } = workbench;
      await page.keyboard.press("Control+1");
      const before = await workbench.text();
      await page.keyboard.press("F8");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await page.keyboard.press("Control+i");
      await eventually("the hover", async () =>
        /This key:/.test((await page.locator(".monaco-editor .monaco-hover:not(.hidden)").allInnerTexts()).join("\n")),
      );
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+.");
      await page.locator(".action-widget .monaco-list-row.action").first().waitFor();
      await page.keyboard.press("Enter");
      await eventually("the edit", async () => (await workbench.text()) !== before);
      await page.keyboard.press("Control+z");
      await eventually("the text as before", async () => (await workbench.text()) === before);
    },
  },
  {
    name: "the best plan is applied by its command and undone",
    run: async (workbench) => {
      await eventually("the finding", async () => (await workbench.squiggles()) > 0);
      const before = await workbench.text();
      await command(workbench, "VRAM Lens: Apply the Best Plan");
      await eventually("the edit", async () => (await workbench.text()) !== before);
      await workbench.page.keyboard.press("Control+1");
      await workbench.page.keyboard.press("Control+z");
      await eventually("the text as before", async () => (await workbench.text()) === before);
    },
  },
  {
    name: "a plan is chosen from a list, and left",
    run: async (workbench) => {
      const before = await workbench.text();
      await command(workbench, "VRAM Lens: Preview a Plan");
      await eventually("the plans", async () => /GiB/.test(await focusedRow(workbench)));
      await workbench.page.keyboard.press("Escape");
      await input(workbench).waitFor({ state: "hidden" });
      assert.equal(await workbench.text(), before);
    },
  },
  {
    name: "a GPU is found by its name, and left",
    run: async (workbench) => {
      const { page } = workbench;
      await command(workbench, "VRAM Lens: Choose GPU");
      await page.getByText("GPU to check training configs against").waitFor();
      await eventually("the list", async () => (await page.locator(".quick-input-list").innerText()).includes("H200"));
      await page.keyboard.type("a100");
      await eventually("an A100 first", async () => /^A100/.test(await focusedRow(workbench)));
      await page.keyboard.press("Enter");
      await eventually("where to keep it", async () =>
        /workspace|Only/.test(await page.locator(".quick-input-list").innerText()),
      );
      await page.keyboard.press("Escape");
    },
  },
  {
    name: "all configs are checked, and a run of the tree is opened",
    run: async (workbench) => {
      await command(workbench, "VRAM Lens: Check All Configs of the Workspace");
      const focusTree = () => command(workbench, "Explorer: Focus on Training Runs View");
      await focusTree();
      const tree = workbench.page.locator(".pane", { hasText: "Training Runs" }).last();
      await tree.getByText("gpt2-scratch/train.yaml").waitFor({ timeout: 60_000 });
      await workbench.openRun("gpt2-scratch/train.yaml", focusTree);
    },
  },
  {
    name: "in the panel, Tab leads to Apply, and Enter applies",
    run: async (workbench, pictures, { folder }) => {
      const { page } = workbench;
      await pick(workbench, "Control+p", FILE, "train.yaml llama-1b");
      const sample = readFileSync(join(folder, FILE), "utf8").trimEnd();
      await eventually("the sample's text", async () => (await workbench.text()).trimEnd() === sample);
      const before = await workbench.text();
      const panel = await workbench.webview("h1.verdict");
      // The panel showed another run just before.
      await panel.locator(".document", { hasText: "llama-1b" }).waitFor();
      await eventually("the verdict", async () => /Does not fit/.test(await panel.locator("h1").innerText()));
      await eventually("the edit", async () => {
        await page.keyboard.press("Control+2");
        await tabTo(workbench, panel, /^Apply: /);
        await workbench.screenshot(join(pictures, "focus.png"));
        await page.keyboard.press("Enter");
        return eventually("the edit", async () => (await workbench.text()) !== before, AGAIN).catch(() => false);
      });
      await eventually("the verdict", async () => /^Fits/.test(await panel.locator("h1").innerText()));
    },
  },
];
