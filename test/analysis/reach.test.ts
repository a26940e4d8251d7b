/** Which files a config can make the analysis open. */
import { strict as assert } from "node:assert";
import { mayRead } from "../../src/analysis/documents/reach";
import { baseName, joinUri, normalise, parentOf, relativePath } from "../../src/analysis/documents/uris";

const HOME = "file:///w/project";
const CACHE = "file:///home/me/.cache/huggingface/hub";

/** What a config says, and whether it may be opened in a trusted and in an untrusted workspace. */
const PATHS: readonly (readonly [path: string, trusted: boolean, untrusted: boolean])[] = [
  ["ds.json", true, true],
  ["../project/ds.json", true, true],
  ["../ds.json", true, false],
  ["/etc/passwd", true, false],
  ["file:///w/project/%2e%2e/%2e%2e/etc/passwd", true, false],
  ["/home/me/.cache/huggingface/hub/models--a--b/x.json", true, true],
  ["//nas/x", false, false],
  ["\\\\nas\\share\\x", false, false],
  ["\\\\?\\UNC\\nas\\share\\x", false, false],
  ["\\\\.\\pipe\\x", false, false],
  ["file://nas/share/x", false, false],
  ["file:////nas/share/x", false, false],
  ["http://169.254.169.254/latest/meta-data", false, false],
  ["https://example.org/x.json", false, false],
  ["vscode-remote://ssh-remote+host/etc/passwd", false, false],
  ["vscode-vfs://github/a/b", false, false],
  ["command://x/y", false, false],
];

describe("reach", () => {
  for (const [path, trusted, untrusted] of PATHS) {
    it(`${path}: ${trusted ? (untrusted ? "read" : "read where trusted") : "never opened"}`, () => {
      const uri = joinUri(HOME, path);
      const folders = [HOME, CACHE];
      assert.equal(mayRead(uri, { folders, named: [], trusted: true }), trusted, uri);
      assert.equal(mayRead(uri, { folders, named: [], trusted: false }), untrusted, uri);
    });
  }

  it("stays on the machine of a virtual workspace", () => {
    const folders = ["vscode-vfs://github/a/b"];
    const may = (uri: string) => mayRead(uri, { folders, named: [], trusted: true });
    assert.equal(may("vscode-vfs://github/a/b/c.json"), true);
    assert.equal(may("vscode-vfs://github/other/c.json"), true);
    assert.equal(may("vscode-vfs://gitlab/a/b/c.json"), false);
  });

  it("URI arithmetic throws on nothing", () => {
    const texts = PATHS.map(([path]) => path).concat([
      "",
      "//",
      "////",
      "a://",
      "1:",
      "%",
      "%zz",
      "//%zz/\0",
      "\ud83d",
      " //a",
      "file:",
      "/".repeat(100_000),
      "../".repeat(50_000),
    ]);
    for (const text of texts) {
      for (const folder of [HOME, "untitled:Untitled-1", text]) {
        const uri = joinUri(folder, text);
        assert.equal(typeof parentOf(uri) + typeof baseName(text) + typeof normalise(text), "stringstringstring");
        relativePath(text, uri);
      }
    }
  });
});
