/** Scripts that install the packages themselves need none of them to begin with: they start on a fresh clone. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(__dirname, "..", "..");

/** Packages that a module and what it imports at once need, with who needs each. */
function needed(path: string, seen: Set<string> = new Set()): string[] {
  if (seen.has(path)) return [];
  seen.add(path);
  return [...readFileSync(path, "utf8").matchAll(/^import [^;]*?"([^"]+)";$/gm)].flatMap(([, from = ""]) => {
    if (from.startsWith("node:")) return [];
    return from.startsWith(".")
      ? needed(join(dirname(path), from), seen)
      : [`${from} (${path.slice(root.length + 1)})`];
  });
}

describe("a fresh clone", () => {
  const scripts = ["scripts", "test/vscode"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(".mjs") && name !== "process.mjs")
      .map((name) => join(folder, name)),
  );
  const installing = scripts.filter((path) =>
    readFileSync(join(root, path), "utf8").includes("await ensureInstalled()"),
  );

  it("has scripts that install", () => assert.ok(installing.includes(join("scripts", "start.mjs"))));
  for (const path of installing) it(`can run ${path}`, () => assert.deepEqual(needed(join(root, path)), []));
});
