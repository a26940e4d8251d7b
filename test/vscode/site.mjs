/** The panel as a page of the built site, in a real browser: paste, choose a GPU, apply. Each entry is one test. */
import { strict as assert } from "node:assert";
import { join } from "node:path";
import { accessibilityProblems } from "./lib/axe.mjs";

const heading = (page) => page.locator("h1.verdict");
const config = (page) => page.locator("#config");

/** Opens the page and waits for its first verdict. */
async function opened(page, url, verdict) {
  await page.goto(`${url}try/index.html`);
  await heading(page).filter({ hasText: verdict }).waitFor();
}

export const SITE = [
  {
    name: "a plan is written into what was pasted, and what is then shown fits",
    view: { viewport: { width: 1280, height: 900 }, locale: "en-US" },
    run: async (page, url, pictures) => {
      await opened(page, url, /^Does not fit/);
      const before = await config(page).inputValue();
      const card = page.locator(".card.first");
      const promised = /\d+\.\d/.exec(await card.locator(".big").innerText())?.[0];
      assert.ok(promised);
      assert.deepEqual(await accessibilityProblems(page), []);
      await page.screenshot({ path: join(pictures, "page.png"), fullPage: true });
      await card.getByRole("button", { name: /^Apply/ }).click();
      await heading(page).filter({ hasText: /^Fits/ }).waitFor();
      assert.ok((await heading(page).innerText()).includes(promised), promised);
      assert.notEqual(await config(page).inputValue(), before);
    },
  },
  {
    name: "another config, another GPU, a value that is tried, an answer that is kept",
    view: { viewport: { width: 420, height: 900 }, colorScheme: "dark", locale: "en-US" },
    run: async (page, url, pictures) => {
      await opened(page, url, /^Does not fit/);
      await config(page).fill(
        "model_name_or_path: Qwen/Qwen2.5-0.5B\noutput_dir: out\nper_device_train_batch_size: 4\n",
      );
      await page.locator("#device").fill("H100");
      await heading(page)
        .filter({ hasText: /^Fits.*H100/s })
        .waitFor();
      await page
        .getByRole("group", { name: "Micro-batch" })
        .locator(".option", { has: page.getByText("2", { exact: true }) })
        .click();
      await heading(page)
        .filter({ hasText: /^What if: Fits/ })
        .waitFor();
      await page.getByRole("button", { name: "Apply to files" }).click();
      await heading(page).filter({ hasText: /^Fits/ }).waitFor();
      assert.match(await config(page).inputValue(), /per_device_train_batch_size: 2\n/);
      const length = page.getByRole("textbox", { name: "Value of sequence_length" });
      await length.fill("512");
      await length.press("Enter");
      await page.getByText("2 × 512 tokens").waitFor();
      assert.match(await page.locator("#pins").inputValue(), /sequence_length: 512/);
      assert.deepEqual(await accessibilityProblems(page), []);
      await page.screenshot({ path: join(pictures, "narrow.png"), fullPage: true });
    },
  },
  {
    name: "what has the focus keeps it while the page is made anew around it",
    view: { viewport: { width: 1280, height: 900 }, locale: "en-US" },
    run: async (page, url) => {
      await opened(page, url, /^Does not fit/);
      // The plan is one of both models', of another size, and the card before it is of the first alone.
      const apply = page.getByRole("button", { name: "Apply: Micro-batch 2 × accumulation 4" });
      await apply.focus();
      const before = await heading(page).innerText();
      const text = await config(page).inputValue();
      const other = text.replace("meta-llama/Llama-3.2-1B", "EleutherAI/pythia-1.4b");
      assert.notEqual(other, text);
      // Typing into the config would take the focus away.
      await config(page).evaluate((area, value) => {
        area.value = value;
        area.dispatchEvent(new Event("input", { bubbles: true }));
      }, other);
      await page.waitForFunction((old) => document.querySelector("h1.verdict")?.innerText !== old, before);
      await page.locator(".card", { hasText: "Fused cross-entropy" }).waitFor({ state: "detached" });
      assert.equal(await apply.evaluate((button) => button === document.activeElement), true);
    },
  },
  {
    name: "where the browser speaks Chinese, so does the page",
    view: { viewport: { width: 820, height: 900 }, locale: "zh-CN" },
    run: async (page, url, pictures) => {
      await opened(page, url, /^放不下/);
      assert.deepEqual((await page.locator("body").innerText()).match(/.*[a-z]{2,} [a-z]{2,}.*/g) ?? [], []);
      assert.deepEqual(await accessibilityProblems(page), []);
      await page.screenshot({ path: join(pictures, "chinese.png"), fullPage: true });
    },
  },
  {
    name: "its documents have no accessibility problem",
    view: { viewport: { width: 1100, height: 800 } },
    run: async (page, url, pictures) => {
      for (const name of ["index", "cli", "findings/index", "believe"]) {
        await page.goto(`${url}${name}.html`);
        assert.deepEqual(await accessibilityProblems(page), [], name);
        await page.screenshot({ path: join(pictures, `${name.replace("/", "-")}.png`) });
      }
    },
  },
  {
    name: "on a phone and in the dark, too, where the text comes before the list of pages",
    view: { viewport: { width: 390, height: 800 }, colorScheme: "dark" },
    run: async (page, url, pictures) => {
      await page.goto(`${url}first-minute.html`);
      assert.deepEqual(await accessibilityProblems(page), []);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(wide <= 0, `${wide} pixels too wide`);
      assert.ok((await page.locator("h1").boundingBox()).y < 200);
      await page.screenshot({ path: join(pictures, "phone.png") });
    },
  },
];
