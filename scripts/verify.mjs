/**
 * Runs nobody has looked at, of every captured family, against PyTorch; writes docs/verification.md and the READMEs' headline.
 * Needs Python with capture/requirements.txt (see capture/README.md) in .venv or named by VRAM_LENS_PYTHON, and the oracle.
 *
 * usage: npm run verify [-- --per N --family NAME ... --seed S --oracle FILE --rows FILE ...]
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./process.mjs";

const places = [".venv/bin/python", ".venv/Scripts/python.exe"].map((path) => join(root, path));
const python = process.env.VRAM_LENS_PYTHON ?? places.find((path) => existsSync(path));
if (python === undefined) {
  console.error("No Python: make .venv as capture/README.md says, or name one with VRAM_LENS_PYTHON.");
  process.exit(1);
}
const verified = await run(python, ["-m", "capture", "release", ...process.argv.slice(2)], { stdio: "inherit" });
process.exit(verified.status);
