/** The cards of this machine: what the vendors' tools print, and where they may be started from. */
import { strict as assert } from "node:assert";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { localCardText } from "../../src/extension/localCard";
import { localCards, readNvidia, readRocm, toolDirectories } from "../../src/host/local-cards";
import { clientWords } from "../../src/words/client";
import { temporaryFolder } from "../cli/fake";

const GIB = 2 ** 30;
const t = clientWords("en");

/** Puts a tool of a vendor into a folder. */
function tool(folder: string, name: string, body: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(folder, name), 0o755);
}

describe("local cards", () => {
  it("reads what nvidia-smi prints", () => {
    assert.deepEqual(readNvidia("NVIDIA GeForce RTX 4090, 24564, 3174\r\nNVIDIA A100-SXM4-80GB, 81920, 0\n"), [
      { name: "NVIDIA GeForce RTX 4090", totalBytes: 24564 * 2 ** 20, usedBytes: 3174 * 2 ** 20 },
      { name: "NVIDIA A100-SXM4-80GB", totalBytes: 80 * GIB, usedBytes: 0 },
    ]);
    assert.deepEqual(readNvidia("No devices were found\n"), []);
    assert.deepEqual(readNvidia("NVIDIA Thor, [N/A], [N/A]\n"), []);
  });

  it("reads what rocm-smi prints", () => {
    const card = {
      "Card Series": "AMD Instinct MI300X",
      "VRAM Total Memory (B)": String(192 * GIB),
      "VRAM Total Used Memory (B)": String(GIB),
    };
    const text = `WARNING: low power\n${JSON.stringify({ card0: card, system: {} })}`;
    assert.deepEqual(readRocm(text), [{ name: "AMD Instinct MI300X", totalBytes: 192 * GIB, usedBytes: GIB }]);
    for (const broken of ["", "{", "null", "[1]", '{"card0":{}}']) assert.deepEqual(readRocm(broken), []);
  });

  it("starts nothing from a workspace or a relative path", () => {
    const work = join("/", "work", "project");
    const path = [join(work, "bin"), work, "bin", "", ".", join("/", "usr", "bin"), join("/", "work")].join(delimiter);
    assert.deepEqual(toolDirectories(path, [join("/", "usr", "bin")], [work]), [
      join("/", "usr", "bin"),
      join("/", "work"),
    ]);
  });

  it("asks the tool on the search path, not the one in the workspace", async function () {
    if (process.platform === "win32") this.skip();
    const folder = temporaryFolder();
    tool(join(folder, "workspace"), "nvidia-smi", 'echo "planted, 1024, 256"');
    tool(join(folder, "system"), "nvidia-smi", 'echo "real, 1024, 256"');
    const path = [join(folder, "workspace"), join(folder, "system")].join(delimiter);
    const cards = await localCards([join(folder, "workspace")], path);
    assert.deepEqual(cards, [{ name: "real", totalBytes: GIB, usedBytes: GIB / 4 }]);
  });

  it("asks AMD's tool where NVIDIA's has nothing to say", async function () {
    if (process.platform === "win32") this.skip();
    const card = {
      "Card Series": "AMD Instinct MI300X",
      "VRAM Total Memory (B)": "4096",
      "VRAM Total Used Memory (B)": "1024",
    };
    const folder = temporaryFolder();
    tool(folder, "nvidia-smi", 'echo "NVIDIA-SMI has failed"; exit 9');
    const asked = 'case "$*" in "--showproductname --showmeminfo vram --json") ;; *) exit 2 ;; esac';
    tool(folder, "rocm-smi", `${asked}\necho '${JSON.stringify({ card0: card })}'`);
    assert.deepEqual(await localCards([], folder), [
      { name: "AMD Instinct MI300X", totalBytes: 4096, usedBytes: 1024 },
    ]);
  });

  it("is content with no tool, a silent one and one that cannot run", async function () {
    if (process.platform === "win32") this.skip();
    const folder = temporaryFolder();
    const nothing = async () => assert.deepEqual(await localCards([], folder), []);
    tool(folder, "nvidia-smi", "exit 9");
    tool(folder, "rocm-smi", "echo WARNING");
    await nothing();
    writeFileSync(join(folder, "nvidia-smi"), "no program");
    await nothing();
  });

  it("says what is free beside what the config needs", () => {
    const cards = [{ name: "RTX 4090", totalBytes: 24 * GIB, usedBytes: 3 * GIB }];
    assert.equal(localCardText(cards, undefined, t), "RTX 4090: 3.0 of 24.0 GiB used, 21.0 GiB free.");
    const need = (usedPeakBytes: number) => localCardText(cards, { label: "train.yaml", usedPeakBytes }, t);
    assert.match(need(20 * GIB), /free\. train\.yaml needs 20\.0 GiB: it fits beside what runs now\.$/);
    assert.match(need(22 * GIB), /does not fit beside what runs now\.$/);
    assert.match(localCardText([], undefined, t), /Neither nvidia-smi nor rocm-smi/);
  });
});
