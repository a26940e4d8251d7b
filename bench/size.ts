/** The extension's package as it is published. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(__dirname, "..");

/** Bytes of the package that `scripts/package.mjs` makes of what is built. */
export function packageBytes(): number {
  const folder = mkdtempSync(join(tmpdir(), "vram-lens-package-"));
  try {
    const file = join(folder, "vram-lens.vsix");
    execFileSync(process.execPath, [join(root, "scripts", "package.mjs"), "--no-build", "--out", file], {
      cwd: root,
      stdio: "ignore",
    });
    return statSync(file).size;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
