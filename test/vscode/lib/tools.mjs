/** Stand-ins for the tools of cards' vendors, which keep count of how often they are started. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for the search path with an `nvidia-smi` that reports one card. */
export function fakeTools() {
  const folder = mkdtempSync(join(tmpdir(), "vram-lens-tools-"));
  const lines = [
    "#!/bin/sh",
    `echo asked >> "${join(folder, "asked")}"`,
    'echo "NVIDIA GeForce RTX 4090, 24576, 6144"',
    "",
  ];
  writeFileSync(join(folder, "nvidia-smi"), lines.join("\n"), { mode: 0o755 });
  return folder;
}

/** How often a tool of the folder was started. */
export function timesAsked(folder) {
  const file = join(folder, "asked");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").length : 0;
}
