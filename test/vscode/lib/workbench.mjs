/** What a person does in a VS Code window: open, point, press, read. */

/** How long anything in the editor may take before it counts as missing, milliseconds. */
const PATIENCE = 40_000;

const QUICK_INPUT = ".quick-input-widget input[type=text]";

/** Calls `read` until it returns something truthy; the last value, or an error that says what was awaited. */
export async function eventually(what, read, patience = PATIENCE) {
  const deadline = Date.now() + patience;
  for (;;) {
    const value = await read();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** What an element shows, or nothing where it is not there yet. */
function innerText(element) {
  return element
    .first()
    .innerText({ timeout: 1000 })
    .catch(() => "");
}

/** Whether `read` comes to be true before one would try again. */
function soon(read) {
  return eventually("it", read, 3000).catch(() => false);
}

/** One VS Code window. */
export class Workbench {
  /** @param {import("playwright-core").Page} page */
  constructor(page) {
    this.page = page;
  }

  /** Opens a window and waits until it can be used; `prepare` gets its browser context first. */
  static async open(browser, url, { width = 1360, height = 860, scale = 1, prepare } = {}) {
    const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: scale });
    await prepare?.(context);
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.goto(url);
    await page.waitForSelector(".monaco-workbench .part.editor");
    return new Workbench(page);
  }

  /** Loads the window anew and waits until it can be used. */
  async reload() {
    await this.page.reload();
    await this.page.waitForSelector(".monaco-workbench .part.editor");
  }

  /** Waits until the window wears a colour theme, which has its own CSS class. */
  async wears(className) {
    await this.page.locator(`.monaco-workbench.${className}[class*="vscode-theme-"]`).waitFor();
  }

  /** The row of the quick input that begins with a text. */
  row(text) {
    return this.page.locator(`.quick-input-list .monaco-list-row[aria-label^="${text}" i]`).first();
  }

  /** Takes that row. */
  async pickRow(text) {
    const row = this.row(text);
    await row.waitFor();
    await row.click();
  }

  /**
   * Types into the quick input that a key opens, and takes what begins with `row`. An input that was opened before a file was
   * written does not find it, and one that loses the focus closes while it is typed into: it is opened again.
   */
  async quick(key, text, row = text) {
    const input = this.page.locator(QUICK_INPUT);
    const found = this.row(row);
    const done = (step) =>
      step.then(
        () => true,
        () => false,
      );
    await eventually(`${row} in the quick input`, async () => {
      if (!(await input.isVisible())) await this.page.keyboard.press(key);
      if (!(await done(input.waitFor({ timeout: 2000 })))) return false;
      if (!(await done(input.fill(key === "F1" ? `>${text}` : text, { timeout: 2000 })))) return false;
      if ((await done(found.waitFor({ timeout: 10_000 }))) && (await done(found.click({ timeout: 2000 })))) return true;
      await this.page.keyboard.press("Escape");
      return false;
    });
  }

  /** Closes the quick input, which on a busy machine may miss a key. */
  async closeQuick() {
    await eventually("no quick input", async () => {
      if (!(await this.page.locator(QUICK_INPUT).isVisible())) return true;
      await this.page.keyboard.press("Escape");
      return false;
    });
  }

  /** Runs a command by its title. */
  command(title) {
    return this.quick("F1", title);
  }

  /** Whether the palette has a command of a title; what it lists of the extension's own is waited for first. */
  async offers(title) {
    const input = this.page.locator(QUICK_INPUT);
    return eventually("the palette", async () => {
      try {
        if (!(await input.isVisible())) await this.page.keyboard.press("F1");
        await input.fill(">VRAM Lens:", { timeout: 2000 });
        await this.row("VRAM Lens: ").waitFor({ timeout: 10_000 });
        await input.fill(`>${title}`, { timeout: 2000 });
        const found = this.page.locator(".quick-input-list .monaco-list-row").first();
        await found.waitFor({ timeout: 10_000 });
        const isThere = await this.row(title).isVisible();
        await this.closeQuick();
        return { isThere };
      } catch {
        await this.page.keyboard.press("Escape");
        return undefined;
      }
    }).then(({ isThere }) => isThere);
  }

  /**
   * Opens a file of the workspace by its path. A row is called `train.yaml folder`: what was opened before stands in the list
   * until what was typed is found, and may have the same name in another folder.
   */
  async openFile(path) {
    const parts = path.split("/");
    await this.quick("Control+p", path, [parts.at(-1), parts.slice(0, -1).join("/")].join(" ").trimEnd());
    await this.page.locator(".editor-group-container.active .monaco-editor .view-line").first().waitFor();
  }

  /**
   * Opens a run of the tree with the keys, once `focusTree` has given it the focus, and waits until the file has it: an editor
   * that takes the focus later closes a picker that is typed into, and gets the rest of what is typed.
   */
  async openRun(path, focusTree) {
    const { page } = this;
    const tree = page.locator(".tree-explorer-viewlet-tree-view .monaco-list");
    const row = tree.locator(".monaco-list-row.focused");
    const crumbs = page.locator(".editor-group-container.active .breadcrumbs-control");
    await eventually(`${path} from the tree`, async () => {
      await focusTree();
      const hasFocus = () => tree.evaluateAll((lists) => lists.some((list) => list.contains(document.activeElement)));
      if (!(await soon(hasFocus))) return false;
      await page.keyboard.press("Home");
      for (let rows = 0; rows < 10 && !(await innerText(row)).includes(path); rows++)
        await page.keyboard.press("ArrowDown");
      if (!((await innerText(row)).includes(path) && (await hasFocus()))) return false;
      await page.keyboard.press("Enter");
      return soon(async () => {
        const shown = await innerText(crumbs);
        return path.split("/").every((part) => shown.includes(part));
      });
    });
    await page.locator(".editor-group-container.active .monaco-editor.focused").waitFor();
  }

  /** Text of the visible lines of the active file, top to bottom. */
  async text() {
    const lines = await this.page.locator(".editor-instance .view-lines .view-line").evaluateAll((elements) =>
      elements
        .map((element) => ({ top: Number.parseFloat(element.style.top), text: element.textContent ?? "" }))
        .sort((a, b) => a.top - b.top)
        .map((line) => line.text),
    );
    return lines.join("\n").replaceAll("\u00a0", " ");
  }

  /** Place on the screen of a text in the file, or undefined when it is not visible. */
  async find(text) {
    return this.page.locator(".editor-instance .view-lines").evaluate((lines, wanted) => {
      for (const line of lines.querySelectorAll(".view-line")) {
        const at = (line.textContent ?? "").replaceAll("\u00a0", " ").indexOf(wanted);
        if (at < 0) continue;
        const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
        let seen = 0;
        for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
          const length = node.textContent?.length ?? 0;
          if (seen + length > at) {
            const range = document.createRange();
            range.setStart(node, at - seen);
            range.setEnd(node, Math.min(length, at - seen + wanted.length));
            const box = range.getBoundingClientRect();
            return { x: box.x, y: box.y, width: box.width, height: box.height };
          }
          seen += length;
        }
      }
      return undefined;
    }, text);
  }

  /** Moves the mouse over a text and returns what the hover says once `accept` likes it. */
  async hover(text, accept, patience) {
    const hover = this.page.locator(".monaco-editor .monaco-hover:not(.hidden)");
    const point = async () => {
      const box = await this.find(text);
      if (box === undefined) return false;
      await this.page.mouse.move(box.x + box.width + 300, box.y + 300, { steps: 3 });
      await this.page.waitForTimeout(300);
      await this.page.mouse.move(box.x + Math.min(30, box.width / 2), box.y + box.height / 2, { steps: 5 });
      for (let i = 0; i < 20; i++) {
        await this.page.waitForTimeout(100);
        const said = (await hover.allInnerTexts()).join("\n");
        if (accept(said)) return said;
      }
      return false;
    };
    return eventually(`a hover on "${text}"`, point, patience);
  }

  /** Number of error squiggles that are drawn. */
  squiggles() {
    return this.page.locator(".editor-instance .squiggly-error").count();
  }

  /** Waits until nothing is loading in a hover. */
  async hoverLoaded() {
    const loading = this.page.locator(".monaco-editor .monaco-hover:not(.hidden)", { hasText: "Loading..." });
    await loading.waitFor({ state: "hidden" });
  }

  /** Clicks on a text, opens the quick fixes and returns their titles. */
  async openQuickFixes(text) {
    const row = this.page.locator(".action-widget .monaco-list-row.action");
    return eventually(`quick fixes on "${text}"`, async () => {
      const box = await this.find(text);
      if (box === undefined) return false;
      await this.page.keyboard.press("Escape");
      await this.page.mouse.click(box.x + 5, box.y + box.height / 2);
      await this.page.keyboard.press("Control+.");
      const shown = await row
        .first()
        .waitFor({ state: "visible", timeout: 3000 })
        .then(
          () => true,
          () => false,
        );
      return shown ? await row.allInnerTexts() : false;
    });
  }

  /** Takes one of the quick fixes that are open. */
  async takeQuickFix(title) {
    await this.page.locator(".action-widget .monaco-list-row.action", { hasText: title }).first().click();
  }

  /** The frame of a webview once it shows an element. */
  async webview(selector) {
    return eventually(`a webview with ${selector}`, async () => {
      for (const frame of this.page.frames()) {
        if (
          await frame
            .locator(selector)
            .first()
            .isVisible()
            .catch(() => false)
        )
          return frame;
      }
      return undefined;
    });
  }

  /** Puts the mouse where it points at nothing, and waits until no tooltip is left. */
  async rest() {
    await this.page.mouse.move(300, 650, { steps: 3 });
    await this.page.locator(".workbench-hover-container").waitFor({ state: "hidden" });
  }

  /** Pictures of what the window shows go to `path`. */
  async screenshot(path) {
    await this.page.screenshot({ path, animations: "disabled" });
  }

  async close() {
    await this.page.context().close();
  }
}
