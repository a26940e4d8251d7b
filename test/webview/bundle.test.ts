/** What is shipped: small, without the schema library, and without anything the page's policy forbids. */
import { strict as assert } from "node:assert";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

const root = join(__dirname, "..", "..");

function bundle(entry: string): string {
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
    outdir: "out",
  });
  return outputFiles.map((file) => file.text).join("\n");
}

describe("webview bundle", () => {
  const script = bundle("webview-ui/main.ts");
  const style = bundle("webview-ui/main.css");

  it("is under 60 kB of compressed JavaScript", () => {
    const size = gzipSync(script).length;
    assert.ok(size < 60_000, `${size} bytes`);
  });

  it("carries types of the report only, not its schemas", () => {
    assert.doesNotMatch(script, /ZodError|vram-lens\/report\/1/);
  });

  it("does nothing the content security policy forbids", () => {
    assert.doesNotMatch(script, /\beval\(|new Function\(|innerHTML|outerHTML|insertAdjacentHTML|setAttribute\("style"/);
    assert.doesNotMatch(script, /\bfetch\(|XMLHttpRequest|WebSocket/);
    assert.doesNotMatch(style, /url\(|@import/);
  });

  it("names no colour outside the theme", () => {
    assert.doesNotMatch(style, /#[0-9a-f]{3,8}\b(?=[;\s},)])/i);
    assert.doesNotMatch(style, /\brgba?\(\s*\d|\bhsla?\(\s*\d|\boklch\(\s*[\d.]/);
  });
});
