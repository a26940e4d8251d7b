import { strict as assert } from "node:assert";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { nodeFiles } from "../../src/host/files";
import { createNodeRuntime, hubCacheDirectories, pathOf, uriOf } from "../../src/host/node";
import { decode } from "../../src/terms/text";
import { temporaryFolder } from "../cli/fake";

describe("node runtime", () => {
  it("reads files, and says nothing of what is not there", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a b@1.yaml"), "\ufeffkey: ä\n");
    mkdirSync(join(folder, "blobs"));
    symlinkSync(join(folder, "blobs"), join(folder, "link"));
    symlinkSync(join(folder, "nothing"), join(folder, "broken"));
    const files = nodeFiles();
    assert.equal(await files.readText(uriOf(join(folder, "a b@1.yaml"))), "key: ä\n");
    assert.equal((await files.stat(uriOf(folder)))?.type, "directory");
    assert.deepEqual(
      [...(await files.list(uriOf(folder)))].sort((a, b) => a.name.localeCompare(b.name)),
      [
        { name: "a b@1.yaml", type: "file" },
        { name: "blobs", type: "directory" },
        { name: "link", type: "directory", linked: true },
      ],
    );
    for (const uri of [uriOf(join(folder, "absent")), "untitled:Untitled-1", "not a uri", uriOf(folder)]) {
      assert.equal(await files.readText(uri), undefined);
    }
    assert.deepEqual(await files.list("git:/x"), []);
    assert.equal(await files.stat(uriOf(join(folder, "absent"))), undefined);
  });

  it("spells paths as URIs and back", () => {
    assert.equal(pathOf(uriOf("/a/b c@2/ü.yaml")), "/a/b c@2/ü.yaml");
    assert.equal(pathOf("vscode-vfs://github/a"), undefined);
  });

  it("decodes UTF-8 and UTF-16 by their marks", () => {
    assert.equal(decode(new Uint8Array([0xff, 0xfe, 0x61, 0])), "a");
    assert.equal(decode(new Uint8Array([0xfe, 0xff, 0, 0x61])), "a");
    assert.equal(decode(new Uint8Array([0x61])), "a");
  });

  it("finds the hub cache as huggingface_hub does", () => {
    assert.deepEqual(hubCacheDirectories({ HF_HUB_CACHE: "/c", HF_HOME: "/h" }), ["/c"]);
    assert.deepEqual(hubCacheDirectories({ HF_HOME: "/h" }), [join("/h", "hub")]);
    assert.deepEqual(hubCacheDirectories({}), [join(homedir(), ".cache", "huggingface", "hub")]);
  });

  it("reads model data from the package, from any of its folders", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "models"));
    mkdirSync(join(folder, "dist"));
    writeFileSync(join(folder, "package.json"), "{}");
    writeFileSync(join(folder, "models", "catalogue.json"), "[]");
    const runtime = createNodeRuntime({ workspaceFolders: [folder], packageDirectory: join(folder, "dist"), env: {} });
    assert.equal(await runtime.readModelData("catalogue.json"), "[]");
    assert.equal(await runtime.readModelData("graphs/none.json"), undefined);
    assert.equal(runtime.readModelArchive, undefined);
    assert.deepEqual(runtime.workspaceFolders, [uriOf(folder)]);
  });

  it("reads the archive of model data where the package has no folder of it, whatever lies above the package", async () => {
    const above = temporaryFolder();
    const folder = join(above, "extension");
    mkdirSync(join(above, "models"));
    mkdirSync(join(folder, "dist"), { recursive: true });
    for (const name of [above, folder]) writeFileSync(join(name, "package.json"), "{}");
    writeFileSync(join(above, "models", "catalogue.json"), "[]");
    writeFileSync(join(folder, "dist", "models.xz"), "packed");
    const runtime = createNodeRuntime({ workspaceFolders: [], packageDirectory: join(folder, "dist"), env: {} });
    assert.equal(String(await runtime.readModelArchive?.()), "packed");
    assert.equal(await runtime.readModelData("catalogue.json"), undefined);
  });
});
