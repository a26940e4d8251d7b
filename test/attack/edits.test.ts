/** Plans applied to small runs as other editors and systems write them. */
import { strict as assert } from "node:assert";
import type { Files } from "../analysis/promises";
import { faultsOfEdits, SPELLINGS } from "./edits";
import { SEEDS } from "./seeds";

/** Files with every config of theirs spelled otherwise; a model's own are left. */
function spelled(files: Files, spell: (text: string, path: string) => string): Files {
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [path, path.startsWith("model/") ? text : spell(text, path)]),
  );
}

const CASES: readonly (readonly [name: string, files: Files, main: string, device: string])[] = [
  ...["trainer", "axolotl", "llama-factory", "shell", "python"].map(
    (name) => [name, SEEDS[name]?.files ?? {}, SEEDS[name]?.main ?? "", "600MiB"] as const,
  ),
];

describe("attacks: edits in other spellings", () => {
  let all = 0;
  for (const [name, files, main, device] of CASES)
    it(name, async () => {
      for (const [how, spell] of Object.entries(SPELLINGS)) {
        const { tried, faults } = await faultsOfEdits(spelled(files, spell), main, device);
        assert.deepEqual(faults, [], how);
        all += tried;
      }
    });
  it("were some", () => assert.ok(all > 10, String(all)));
});
