/** What goes into the extension: the files that .vscodeignore allows. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./process.mjs";
import { codeOf } from "./python-code.mjs";

/** One pattern of .vscodeignore as a test of a path: `*` stays in a folder, `**` does not. */
function glob(pattern) {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*\*\/|\*\*|\*/g, (star) => ({ "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*" })[star]);
  const expression = new RegExp(`^${source}$`);
  return (path) => expression.test(path);
}

/** Files of the project that the last matching pattern does not ignore, sorted, with forward slashes. */
export function packagedFiles() {
  const rules = readFileSync(join(root, ".vscodeignore"), "utf8")
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) =>
      line.startsWith("!") ? { keep: true, test: glob(line.slice(1)) } : { keep: false, test: glob(line) },
    );
  const skipped = new Set(["node_modules", ".git", "test", "capture"]);
  const walk = (folder) =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) return skipped.has(path) ? [] : walk(path);
      return entry.isFile() ? [path] : [];
    });
  return walk("")
    .filter((path) => rules.findLast((rule) => rule.test(path))?.keep === true)
    .sort();
}

/** Pages that stand by themselves: on the marketplace, and in the editor's list of extensions. */
const PAGES = new Set(["README.md", "CHANGELOG.md"]);

/** What the package has of a file. */
export function packagedContent(path) {
  const bytes = readFileSync(join(root, path));
  if (PAGES.has(path)) return Buffer.from(withAddresses(bytes.toString()));
  return path.endsWith(".py") ? Buffer.from(codeOf(bytes.toString())) : bytes;
}

/** A page of the repository with the addresses of what it links to and shows, which the package has not. */
function withAddresses(markdown) {
  const { repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const home = repository.url.replace(/\.git$/, "");
  return markdown.replace(/(!?\[[^\]\n]*\]\()([^)\s]+)\)/g, (all, before, target) => {
    if (/^(?:[a-z]+:|#)/i.test(target)) return all;
    return `${before}${home}/${before.startsWith("!") ? "raw" : "blob"}/HEAD/${target})`;
  });
}

/**
 * Copies what would be packaged into a folder of its own, to run the extension from: nothing that is left out of the
 * package can be missed by accident, and VS Code does not take its own extensions, which are below `test/vscode`, for
 * a part of the one under development.
 */
export function stageExtension() {
  const artifacts = join(root, "test", "artifacts");
  mkdirSync(artifacts, { recursive: true });
  const folder = mkdtempSync(join(artifacts, "extension-"));
  for (const path of packagedFiles()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), packagedContent(path));
  }
  return folder;
}
