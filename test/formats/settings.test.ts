/** Settings are declared once: each is stated by something and read by something. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FORMATS } from "../../src/formats";
import { ROWS, SETTINGS, settingName } from "../../src/terms/settings";
import { drawnFor, TRIED } from "../../src/terms/tried";

const ROOT = join(__dirname, "../../src");
const TABLES = /^formats\/(?:[^/]+\/keys|[^/]+\/accepted|peft|effects)\.ts$/;

function sources(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .map((file) => `${folder}/${file.replaceAll("\\", "/")}`)
    .filter((file) => file.endsWith(".ts"));
}

/** Whether some source names a setting: in quotes, as a property, or by a template that it fits. */
function mentions(files: readonly string[]): (name: string) => boolean {
  const text = files.map((file) => readFileSync(join(ROOT, file), "utf8")).join("\n");
  const words = new Set([...text.matchAll(/["']([\w.]+)["']|\b(\w+):/g)].map(([, quoted, key]) => quoted ?? key));
  const templates = [...text.matchAll(/`([\w.]*)\$\{[^}]*\}([\w.]*)`/g)]
    .filter(([, before = "", after = ""]) => /[a-z]/.test(before + after) && (before + after).length > 3)
    .map(([, before, after]) => new RegExp(`^${before}\\w+${after}$`));
  return (name) => words.has(name) || templates.some((template) => template.test(name));
}

describe("formats: settings", () => {
  const readers = [...sources("analysis"), ...sources("formats").filter((file) => !TABLES.test(file))];

  it("are read by something", () => {
    // A block that hovers speak of as one of its keys.
    const shown = new Set<string>(ROWS.flatMap(([name, { triedAs }]) => (triedAs === undefined ? [] : name)));
    const read = mentions(readers);
    assert.deepEqual(
      Object.keys(SETTINGS).filter((name) => !name.startsWith("nnunet.") && !shown.has(name) && !read(name)),
      [],
    );
  });

  it("name settings of which other values are tried, and settings alone", () => {
    const tried = ROWS.flatMap(([name, row]) => drawnFor(name, row) ?? []);
    assert.deepEqual(
      tried.filter((name) => TRIED.get(name)?.panelOnly !== undefined || !TRIED.has(name)),
      [],
    );
    const needs = [...TRIED.values()].flatMap(({ control }) => (control?.when ?? []).map(({ of }) => of));
    assert.deepEqual(
      needs.filter((name) => settingName(name) === undefined),
      [],
    );
  });

  it("are stated by a key, or by what reads documents", () => {
    const stated = new Set(
      FORMATS.flatMap(({ keys }) => keys.flatMap(({ name, also }) => [name, ...(also ?? []).map((one) => one.name)])),
    );
    const derived = mentions([...sources("formats"), ...sources("analysis")]);
    assert.deepEqual(
      Object.keys(SETTINGS).filter((name) => !stated.has(name as never) && !derived(name)),
      [],
    );
  });
});
