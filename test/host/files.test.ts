/** Only regular files are read, only so much of them, and never for ever. */
import { strict as assert } from "node:assert";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withinReach } from "../../src/analysis/documents/reach";
import { Deadline } from "../../src/host/deadline";
import { followLinks, LARGEST_FILE, nodeFiles } from "../../src/host/files";
import { uriOf } from "../../src/host/paths";
import { temporaryFolder } from "../cli/fake";

const files = nodeFiles();

describe("files of every kind", () => {
  it("reads no device, pipe or socket, nor a link to one", async function () {
    if (process.platform === "win32") this.skip();
    const folder = temporaryFolder();
    const pipe = join(folder, "pipe.json");
    execFileSync("mkfifo", [pipe]);
    symlinkSync("/dev/zero", join(folder, "zero.json"));
    symlinkSync(pipe, join(folder, "to-pipe.json"));
    for (const path of ["/dev/zero", "/dev/urandom", "/dev/tty", pipe, join(folder, "zero.json")]) {
      assert.equal(await files.readText(uriOf(path)), undefined, path);
      assert.equal(await files.stat(uriOf(path)), undefined, path);
    }
    assert.equal(await files.readText(uriOf(join(folder, "to-pipe.json"))), undefined);
    assert.deepEqual(await files.list(uriOf(folder)), []);
  });

  it("reads no more than a file says it has", async function () {
    if (process.platform !== "linux") this.skip();
    assert.equal(await files.readText(uriOf("/proc/self/environ")), "");
    const large = join(temporaryFolder(), "large.json");
    writeFileSync(large, "{}");
    truncateSync(large, LARGEST_FILE + 1);
    assert.equal(await files.readText(uriOf(large)), undefined);
  });

  it("waits no longer than its deadline, and stops asking where calls hang", async () => {
    const deadline = new Deadline(1);
    assert.equal(await deadline.within(() => Promise.resolve("x")), "x");
    assert.equal(await deadline.within(() => Promise.reject(new Error("no"))), undefined);
    let release = (_: string) => {};
    const slow = () =>
      new Promise<string>((resolve) => {
        release = resolve;
      });
    assert.equal(await deadline.within(slow), undefined);
    const first = release;
    assert.equal(await deadline.within(slow), undefined);
    assert.equal(await deadline.within(() => Promise.resolve("not asked")), undefined);
    first("late");
    release("late");
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await deadline.within(() => Promise.resolve("asked again")), "asked again");
  });

  it("sees a link to a share before it is opened", async () => {
    const links: Readonly<Record<string, string>> = {
      "/w/share": "\\\\host\\share",
      "/w/pipe": "//./pipe/x",
      "/w/a": "b",
      "/w/b": "/w/c",
      "/w/loop": "/w/loop",
    };
    const read = async (path: string) => links[path] ?? Promise.reject(new Error("no link"));
    assert.equal(await followLinks("/w/share/x.json", read), undefined);
    assert.equal(await followLinks("/w/pipe", read), undefined);
    assert.equal(await followLinks("/w/loop", read), undefined);
    if (process.platform !== "win32") assert.equal(await followLinks("/w/a/x.json", read), "/w/c/x.json");
  });
});

describe("links out of an untrusted workspace", () => {
  it("are outside of it", async function () {
    if (process.platform === "win32") this.skip();
    const folder = temporaryFolder();
    const workspace = join(folder, "w");
    mkdirSync(workspace);
    writeFileSync(join(folder, "secret.json"), "{}");
    writeFileSync(join(workspace, "own.json"), "{}");
    symlinkSync("../secret.json", join(workspace, "link.json"));
    symlinkSync("own.json", join(workspace, "inner.json"));
    const read = (trusted: boolean) => withinReach(files, () => ({ folders: [uriOf(workspace)], named: [], trusted }));
    assert.equal(await read(false).readText(uriOf(join(workspace, "inner.json"))), "{}");
    assert.equal(await read(false).readText(uriOf(join(workspace, "link.json"))), undefined);
    assert.equal(await read(false).stat(uriOf(join(workspace, "link.json"))), undefined);
    assert.equal(await read(false).readText(uriOf(join(folder, "secret.json"))), undefined);
    assert.equal(await read(true).readText(uriOf(join(workspace, "link.json"))), "{}");
  });
});
