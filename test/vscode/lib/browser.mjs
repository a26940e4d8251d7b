/** A Chromium for the tests: one that is on the machine, or the one an npm package carries. */
import { existsSync } from "node:fs";
import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";

const ON_MACHINE = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Launches the browser without a display. */
export async function launch() {
  const own = process.env["VRAM_LENS_CHROMIUM"] ?? ON_MACHINE.find((path) => existsSync(path));
  const executablePath = own ?? (await chromium.executablePath());
  // The package's arguments are for tiny functions: one process breaks the workbench's workers.
  const args =
    own === undefined ? chromium.args.filter((arg) => arg !== "--single-process" && !arg.startsWith("--headless")) : [];
  return playwright.launch({ executablePath, args: [...args, "--no-sandbox"], headless: true });
}
