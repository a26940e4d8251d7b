/** Interpreters that are not there, that never end, that print for ever, and what they started: nothing is left running. */
import { strict as assert } from "node:assert";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { activePython, pythonFolder, runPython } from "../../src/host/python";

const POSIX = process.platform !== "win32";

describe("host: a person's own Python", () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "vram-lens-python-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const fake = (name: string, script: string): string => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const run = (python: string, changes: Partial<Parameters<typeof runPython>[0]> = {}) =>
    runPython({
      python,
      arguments: ["trace"],
      packageDirectory: __dirname,
      cwd: folder,
      env: { PATH: process.env["PATH"] },
      timeLimit: 60,
      outputLimit: 100_000,
      errors: "ignore",
      onOutput: () => {},
      ...changes,
    });
  /** Whether a process ended; one that nobody has waited for yet is still named, and in no memory. */
  const gone = async (pid: number): Promise<boolean> => {
    for (let tries = 0; tries < 40; tries++) {
      try {
        process.kill(pid, 0);
        if (/^\d+ \([^)]*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) return true;
      } catch {
        return true;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return false;
  };

  it("finds the package, and the interpreter of the active environment", () => {
    assert.match(pythonFolder(__dirname) ?? "", /python$/);
    assert.equal(pythonFolder(tmpdir()), undefined);
    assert.equal(activePython({ VIRTUAL_ENV: "/v" }, "linux"), join("/v", "bin", "python"));
    assert.equal(activePython({ VIRTUAL_ENV: "C:\\v" }, "win32"), join("C:\\v", "Scripts", "python.exe"));
    assert.equal(activePython({}, "linux"), "python3");
  });

  it("says that there is no such interpreter", async () => {
    assert.deepEqual(await run(join(folder, "none")), { kind: "none", why: "absent" });
    if (POSIX) assert.deepEqual(await run(folder), { kind: "none", why: "forbidden" });
  });

  if (!POSIX) return;

  it("hands on the package, the arguments and the status", async () => {
    let said = "";
    const python = fake("echo", 'echo "$PYTHONPATH $*"; exit 3');
    const result = await run(python, { onOutput: (text) => (said += text) });
    assert.deepEqual(result, { kind: "ended", status: 3 });
    assert.match(said, /python -m vram_lens trace/);
  });

  it("ends one that prints for ever, with all that it started", async () => {
    const pids = join(folder, "pids");
    const python = fake("flood", `sleep 1000 &\necho $! > ${pids}\nyes`);
    assert.deepEqual(await run(python), { kind: "output" });
    assert.ok(await gone(Number(readFileSync(pids, "utf8"))));
  });

  it("ends one that never ends, when it is told to", async () => {
    const stopping = new AbortController();
    const python = fake("wait", "echo started\nsleep 1000");
    const result = await run(python, { signal: stopping.signal, onOutput: () => stopping.abort() });
    assert.deepEqual(result, { kind: "cancelled" });
  });

  it("says which signal ended one", async () => {
    assert.deepEqual(await run(fake("killed", "kill -9 $$")), { kind: "signal", signal: "SIGKILL" });
  });

  if (process.platform === "linux")
    it("ends what left the group and holds its output, and does not wait for that", async () => {
      const pids = join(folder, "away");
      const python = fake("away", `(setsid sh -c 'echo $$ > ${pids}; exec sleep 1000' &)\nsleep 0.3`);
      const began = Date.now();
      assert.deepEqual(await run(python), { kind: "ended", status: 0 });
      assert.ok(Date.now() - began < 5000);
      assert.ok(await gone(Number(readFileSync(pids, "utf8"))));
    });

  it("leaves nothing behind of one that ends", async () => {
    const pids = join(folder, "left");
    await run(fake("leaves", `sleep 1000 > /dev/null &\necho $! > ${pids}`));
    assert.ok(await gone(Number(readFileSync(pids, "utf8"))));
  });
});
