/** Places beside the config's own editor: runs side by side, the tree, a notebook, what ran out of memory. */
import { strict as assert } from "node:assert";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/process.mjs";
import { accessibilityProblems } from "./lib/axe.mjs";
import { eventually } from "./lib/workbench.mjs";

const FILE = "llama-1b/train.yaml";

/** Two cells, as Jupyter saves them. */
const NOTEBOOK = {
  cells: [
    "batch = 8\n",
    [
      "from trl import SFTConfig, SFTTrainer",
      "args = SFTConfig(output_dir='out', per_device_train_batch_size=batch, bf16=True, max_length=1024)",
      "SFTTrainer(model='Qwen/Qwen2.5-1.5B', args=args, train_dataset=data).train()",
    ].join("\n"),
  ].map((source) => ({ cell_type: "code", metadata: {}, execution_count: null, outputs: [], source })),
  metadata: { kernelspec: { name: "python3", language: "python" }, language_info: { name: "python" } },
  nbformat: 4,
  nbformat_minor: 5,
};

const FAILURE = [
  "Traceback (most recent call last):",
  '  File "train.py", line 20, in <module>',
  "    trainer.train()",
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of 23.64 GiB of which",
  "1.20 GiB is free. Including non-PyTorch memory, this process has 22.43 GiB memory in use. Of the allocated memory 21.35",
  "GiB is allocated by PyTorch, and 604.00 MiB is reserved by PyTorch but unallocated.",
].join(" ");

/** What a run of the sample took, as a writer of receipts leaves it. */
const RECEIPT = {
  schema: "vram-lens/receipt/1",
  when: "2026-03-02T09:14:07Z",
  writer: "vram_lens 0.1.0",
  run: { documents: [{ path: "train.yaml" }], settings: {}, command: ["train.py"] },
  card: { name: "NVIDIA GeForce RTX 4090", totalBytes: 25757220864 },
  versions: { torch: "2.11.0" },
  world: { size: 1, rank: 0 },
  phases: [],
  peak: { allocatedBytes: 22 * 2 ** 30, reservedBytes: 23 * 2 ** 30, usedBytes: null },
  overheadBytes: null,
  othersBytes: null,
  steps: 3,
  outcome: "finished",
};

/** A repository with one commit of the workspace; called before its window opens. */
export function committed(folder) {
  const git = (...args) =>
    execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@example.com", ...args], { cwd: folder });
  git("init", "--quiet");
  git("add", "--all");
  git("commit", "--quiet", "--message", "as it was");
}

/** Puts the focus into the editor's own column: what is opened next does not cover the panel. */
const toEditor = (workbench) => workbench.page.keyboard.press("Control+1");

/** Writes another micro-batch into the sample, as another program would. */
function batchOf(folder, size) {
  const path = join(folder, FILE);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/per_device_train_batch_size: \d+/, `per_device_train_batch_size: ${size}`));
}

const heading = (panel) => panel.locator("h1").first().innerText();

/** Picks what to put beside the run, and returns the table once it is there. */
async function beside(workbench, panel, choice) {
  await panel.getByRole("button", { name: /^Compare with/ }).click();
  const picker = workbench.page.locator(".quick-input-widget");
  await picker.locator(".monaco-list-row", { hasText: choice }).first().click();
  const table = panel.locator("table.against");
  await table.waitFor();
  return table;
}

/** Tests of one window with a repository, in order. */
export const PLACES = [
  {
    name: "the file stands beside what the last commit has",
    run: async (workbench, pictures, { folder }) => {
      batchOf(folder, 4);
      await workbench.openFile(FILE);
      await workbench.command("VRAM Lens: Open Panel");
      const panel = await workbench.webview("h1.verdict");
      await eventually("the verdict", async () => /RTX 4090/.test(await heading(panel)));
      const table = await beside(workbench, panel, "Last commit (HEAD)");
      await eventually("both verdicts", async () => {
        const said = await table.innerText();
        return /vs\. this[\s\S]*Does not fit/.test(said) && /per_device_train_batch_size\s+4\s+8/.test(said);
      });
      assert.doesNotMatch(await table.innerText(), /Weights\s+[\d.]+\s+0\.0/);
      await table.scrollIntoViewIfNeeded();
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "side-by-side-head.png"));
      await panel.locator(".panel-against").getByRole("button", { name: "Close" }).click();
      await table.waitFor({ state: "detached" });
    },
  },
  {
    name: "and beside another file that is open",
    run: async (workbench, pictures) => {
      await toEditor(workbench);
      const panel = await workbench.webview("h1.verdict");
      // The panel follows each file: a question asked before it has done so would be about the file before.
      await workbench.openFile("llama-8b-zero3/train.json");
      await panel.getByText("llama-8b-zero3/train.json").waitFor();
      await workbench.openFile(FILE);
      await panel.getByText(FILE).waitFor();
      const table = await beside(workbench, panel, "llama-8b-zero3/train.json");
      await eventually("the other run", async () => /zero_optimization|stage/.test(await table.innerText()));
      assert.deepEqual(await accessibilityProblems(panel), []);
      await table.scrollIntoViewIfNeeded();
      await workbench.screenshot(join(pictures, "side-by-side-file.png"));
    },
  },
  {
    name: "and beside a plan",
    run: async (workbench, _pictures, { folder }) => {
      const panel = await workbench.webview("h1.verdict");
      batchOf(folder, 8);
      await eventually("a run that does not fit", async () => /Does not fit/.test(await heading(panel)));
      await panel.locator(".card.first").waitFor();
      const title = (await panel.locator(".card.first h3").innerText()).trim();
      const table = await beside(workbench, panel, title);
      await eventually("both verdicts", async () => /Does not fit[\s\S]*Fits/.test(await table.innerText()));
      assert.deepEqual(await accessibilityProblems(panel), []);
    },
  },
  {
    name: "a receipt that is written while its config is open stands beside the estimate",
    run: async (workbench, pictures, { folder }) => {
      await toEditor(workbench);
      await workbench.openFile(FILE);
      await workbench.command("VRAM Lens: Open Panel");
      const panel = await workbench.webview("h1.verdict");
      await eventually("the verdict", async () => /RTX 4090/.test(await heading(panel)));
      const receipts = join(folder, "llama-1b", ".vramlens", "receipts");
      mkdirSync(receipts, { recursive: true });
      writeFileSync(join(receipts, "20260302-091407-rank0.json"), JSON.stringify(RECEIPT));
      const measured = panel.locator(".panel-measured");
      await measured.getByText("22.0 GiB allocated").waitFor();
      assert.deepEqual(await accessibilityProblems(panel), []);
      await measured.scrollIntoViewIfNeeded();
      await workbench.screenshot(join(pictures, "receipt.png"));
    },
  },
  {
    name: "the tree of runs has no accessibility problem and opens a run with the keys",
    run: async (workbench, pictures) => {
      await workbench.command("VRAM Lens: Check All Configs of the Workspace");
      const focusTree = () => workbench.command("Explorer: Focus on Training Runs View");
      await focusTree();
      const tree = workbench.page.locator(".pane", { hasText: "Training Runs" }).last();
      await tree.getByText("gpt2-scratch/train.yaml").waitFor({ timeout: 60_000 });
      // Its rows are the editor's own: between name and description it writes no space.
      const problems = await accessibilityProblems(workbench.page, ".pane-body .tree-explorer-viewlet-tree-view");
      assert.deepEqual(
        problems.filter((problem) => !problem.startsWith("label-content-name-mismatch")),
        [],
      );
      await workbench.screenshot(join(pictures, "tree.png"));
      await workbench.openRun("gpt2-scratch/train.yaml", focusTree);
    },
  },
  {
    name: "a notebook has a status item and the panel",
    run: async (workbench, pictures, { folder }) => {
      writeFileSync(join(folder, "sft.ipynb"), JSON.stringify(NOTEBOOK));
      await toEditor(workbench);
      await workbench.quick("Control+p", "sft.ipynb");
      await workbench.page.locator(".notebook-editor .cell-list-container").waitFor();
      await eventually("its total in the status bar", async () =>
        /\d+\.\d GiB|\d+\.\d\s*\/\s*\d+\.\d GiB/.test(await workbench.page.locator(".part.statusbar").innerText()),
      );
      await workbench.command("VRAM Lens: Open Panel");
      const panel = await workbench.webview("h1.verdict");
      await panel.getByText("sft.ipynb").first().waitFor();
      await eventually("the notebook's verdict", async () => /\d+\.\d\sGiB/.test(await heading(panel)));
      await panel.getByText("8 × 1,024 tokens").first().waitFor();
      const tree = workbench.page.locator(".pane", { hasText: "Training Runs" }).last();
      await eventually("its run among those summed up above the tree", async () =>
        /No verdict: 1/.test(await tree.innerText()),
      );
      assert.deepEqual(await accessibilityProblems(panel), []);
      await workbench.screenshot(join(pictures, "notebook.png"));
    },
  },
  {
    name: "what ran out of memory is explained on a page without accessibility problems",
    run: async (workbench, pictures, { folder }) => {
      writeFileSync(join(folder, "train.log"), FAILURE);
      await workbench.command("View: Close All Editors");
      await workbench.openFile(FILE);
      await workbench.quick("Control+p", "train.log");
      await eventually("the log", async () => /OutOfMemoryError/.test(await workbench.text()));
      await workbench.command("VRAM Lens: Explain Out of Memory");
      const page = await workbench.webview("main");
      await eventually("the reason", async () => /3\.9/.test(await page.locator("body").innerText()));
      assert.deepEqual(await accessibilityProblems(page), []);
      await workbench.screenshot(join(pictures, "out-of-memory.png"));
    },
  },
  {
    name: "a memory snapshot opens as a timeline without accessibility problems, and is read with the keys",
    run: async (workbench, pictures, { folder }) => {
      copyFileSync(join(root, "test", "evidence", "snapshot", "step.pickle"), join(folder, "step.pickle"));
      await workbench.command("View: Close All Editors");
      await workbench.quick("Control+p", "step.pickle");
      await workbench.quick("F1", "View: Reopen Editor With...");
      await workbench.pickRow("Memory Timeline");
      const page = await workbench.webview("main");
      await eventually("the peak", async () => /Peak|At the peak/.test(await page.locator("body").innerText()));
      assert.deepEqual(await accessibilityProblems(page), []);
      await workbench.screenshot(join(pictures, "recording.png"));
      await page.locator("select:has(option[value=segments])").first().selectOption("segments");
      assert.deepEqual(await accessibilityProblems(page), []);
      await workbench.screenshot(join(pictures, "recording-segments.png"));
    },
  },
];
