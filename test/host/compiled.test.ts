/** Programs start with the code that an earlier start compiled, and without it just the same. */
import { strict as assert } from "node:assert";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compiledFolder, startCompiled, unpackedSource } from "../../src/host/compiled";

const PROGRAM = 'module.exports = { folder: __dirname, file: __filename, join: require("node:path").join };';

describe("compiled code", () => {
  let folder: string;
  let program: string;
  let store: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "vram-lens-compiled-"));
    program = join(folder, "program.js");
    store = join(folder, "store");
    writeFileSync(program, PROGRAM);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Starts the program; whether its code had to be compiled. */
  function start(kept: string | undefined = store): { readonly exported: unknown; readonly compiled: boolean } {
    const writes: (() => void)[] = [];
    const exported = startCompiled(program, kept, (write) => writes.push(write));
    for (const write of writes) write();
    return { exported, compiled: writes.length > 0 };
  }

  it("is kept for the next start, by the person alone", () => {
    assert.equal(start().compiled, true);
    const { exported, compiled } = start();
    assert.equal(compiled, false);
    assert.deepEqual(exported, { folder, file: program, join });
    assert.deepEqual(readdirSync(store), ["program.js.compiled"]);
    if (process.platform !== "win32") assert.equal(statSync(store).mode & 0o077, 0);
  });

  it("is not taken for another program's, nor where the file was cut short", () => {
    start();
    writeFileSync(program, PROGRAM.replace("folder: __dirname", "changed: true"));
    assert.equal(start().compiled, true);
    const file = join(store, "program.js.compiled");
    truncateSync(file, readFileSync(file).length - 1);
    const { exported, compiled } = start();
    assert.equal(compiled, true);
    assert.equal((exported as { readonly changed: boolean }).changed, true);
    writeFileSync(file, "nonsense");
    assert.equal(start().compiled, true);
  });

  it("is of a program that is shipped packed, which is unpacked once", async () => {
    let unpackings = 0;
    const unpack = async (packed: Uint8Array) => {
      unpackings++;
      return Buffer.from(`module.exports = require("${Buffer.from(packed).toString()}");`);
    };
    writeFileSync(program, "library");
    const begin = async (kept: string | undefined) => {
      const source = await unpackedSource(program, kept, unpack);
      return startCompiled(program, kept, (write) => write(), { source, require: (name) => `the ${name}` });
    };
    assert.equal(await begin(store), "the library");
    assert.equal(await begin(store), "the library");
    assert.equal(unpackings, 1);
    writeFileSync(program, "other library");
    assert.equal(await begin(store), "the other library");
    assert.equal(await begin(undefined), "the other library");
    assert.equal(unpackings, 3);
  });

  it("is done without where it cannot be kept or is not wanted", () => {
    writeFileSync(store, "a file, not a folder");
    assert.equal(start().compiled, true);
    assert.deepEqual(start().exported, { folder, file: program, join });
    assert.equal(compiledFolder({ NODE_DISABLE_COMPILE_CACHE: "1" }, "linux"), undefined);
    assert.deepEqual(
      startCompiled(program, undefined, () => assert.fail("nothing is kept")),
      {
        ...{ folder, file: program, join },
      },
    );
  });

  it("is in the folder of the person for what can be made again", () => {
    assert.equal(compiledFolder({ XDG_CACHE_HOME: "/c" }, "linux"), join("/c", "vram-lens"));
    assert.equal(compiledFolder({ LOCALAPPDATA: "/l" }, "win32"), join("/l", "vram-lens"));
    assert.match(compiledFolder({}, "darwin") ?? "", /Library.Caches.vram-lens$/);
  });
});
