import { strict as assert } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blameFor } from "../../../src/evidence/log/cause";
import { failuresIn } from "../../../src/evidence/log/failures";
import { printedSize, sizeAfter, sizeBefore } from "../../../src/evidence/log/sizes";
import { REAL } from "./real";
import { printed } from "./shapes";
import { unallocated } from "./wordings";

/** Where the page goes on after this test's table. */
const ENDS = "\n## Reported runs\n";

describe("sizes as messages print them", () => {
  it("are intervals of half a step", () => {
    assert.deepEqual(printedSize("2.32", "GiB"), { bytes: 2.32 * 2 ** 30, within: (0.01 * 2 ** 30) / 2 });
    assert.deepEqual(printedSize("6291456", "bytes"), { bytes: 6291456, within: 0 });
    assert.equal(printedSize("two", "GiB"), undefined);
    assert.equal(printedSize("2", "pages"), undefined);
  });

  it("stand before or after words, with and without a blank", () => {
    assert.equal(sizeAfter("total allocation:   14.44GiB more", "total allocation:")?.bytes, 14.44 * 2 ** 30);
    assert.equal(sizeBefore("(GPU 0; 8.00 GiB total capacity; 0 bytes free;", "free;")?.bytes, 0);
    assert.equal(sizeBefore("nothing", "free;"), undefined);
  });
});

describe("failures that people reported", () => {
  for (const { thread, shape, style, message, part, cause } of REAL) {
    it(`${thread}: ${part}`, () => {
      const found = failuresIn(`step 1\n${printed(shape, style, message)}\nsrun: error\n`);
      assert.equal(found.length, 1, JSON.stringify(found.map((one) => one.message)));
      assert.equal(found[0]?.part?.part, part);
      if (cause !== undefined) assert.equal(found[0] && blameFor(found[0]).cause, cause);
    });
  }
});

describe("messages of other libraries", () => {
  const only = (line: string) => failuresIn(`${line}\n`)[0];

  it("TensorFlow says the tensor by its sides", () => {
    const found = only(
      "Resource exhausted: OOM when allocating tensor with shape[1,4,32,512,128] and type float on GPU:0",
    );
    assert.equal(found?.requested?.bytes, 4 * 32 * 512 * 128 * 4);
    assert.equal(only("OOM when allocating tensor with shape[7] and type constructor on GPU:0")?.requested, null);
  });

  it("memory of the host that CUDA locks is the host's", () => {
    const found = only(
      "cuda_driver.cc:893] failed to alloc 11980496896 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    );
    assert.equal(found?.kind, "host");
  });

  it("NCCL's last error is its own, with and without its prefix", () => {
    for (const prefix of ["", "NCCL WARN "])
      assert.equal(only(`${prefix}Failed to CUDA calloc async 608 bytes`)?.kind, "communication");
  });
});

describe("logs of several ranks", () => {
  const message = unallocated({
    asked: "2.00 GiB",
    gpu: 1,
    total: "23.64 GiB",
    free: "1.00 GiB",
    process: "22.00 GiB",
    allocated: "21.00 GiB",
    pool: "500.00 MiB",
  });

  it("are told apart line by line", () => {
    const lines = (rank: number, shape: "trainer-backward" | "adamw-states") =>
      printed(shape, "plain", message.replace("GPU 1", `GPU ${rank}`))
        .split("\n")
        .map((line) => `[rank${rank}]: ${line}`);
    const [a, b] = [lines(0, "trainer-backward"), lines(5, "adamw-states")];
    const mixed = Array.from({ length: Math.max(a.length, b.length) }, (_, k) => [a[k], b[k]]).flat();
    const found = failuresIn(mixed.filter((line) => line !== undefined).join("\n"));
    assert.deepEqual(found.map(({ rank, device, part }) => [rank, device, part?.part]).sort(), [
      [0, 0, "backward"],
      [5, 5, "optimizer"],
    ]);
  });

  it("of NCCL have one failure, with what was asked for", () => {
    const place = "node:3063028:3066152 [3] include/alloc.h";
    const found = failuresIn(
      `${place}:178 NCCL WARN Cuda failure 'out of memory'\n\n${place}:185 NCCL WARN Failed to CUDA calloc 6291456 bytes\n`,
    );
    assert.deepEqual(
      found.map(({ kind, requested }) => [kind, requested?.bytes]),
      [["communication", 6291456]],
    );
  });

  it("that print one failure twice have it once, with its traceback", () => {
    const found = failuresIn(`ERROR: ${message}\n${printed("trainer-backward", "plain", message)}\n${message}\n`);
    assert.equal(found.length, 1);
    assert.equal(found[0]?.part?.part, "backward");
  });
});

describe("what is no failure", () => {
  it("is not one: source that catches it, a progress bar, a config", () => {
    assert.deepEqual(
      failuresIn("    except torch.cuda.OutOfMemoryError:\n  0%| | 0/10\nper_device_train_batch_size: 8\n"),
      [],
    );
    assert.deepEqual(failuresIn(""), []);
  });

  it("and garbage does not throw", () => {
    const cut = unallocated({ asked: "2.00 GiB", total: "x", free: "", allocated: "1e999 GiB", pool: "-3 MiB" });
    for (const text of [cut, cut.slice(0, 60), "\u001b[31mCUDA out of memory.", "CUDA out of memory. ".repeat(3000)])
      assert.doesNotThrow(() => failuresIn(text));
  });

  it("long logs end: a line of megabytes, a traceback without an end", () => {
    const long = `Traceback (most recent call last):\n${'  File "a.py", line 1, in f\n    g()\n'.repeat(30_000)}`;
    assert.ok(
      failuresIn(`${"#".repeat(3_000_000)}\n${long}RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB`)
        .length === 1,
    );
  });
});

/** The page's table of what was checked. */
function table(): string {
  const rows = REAL.map(({ thread, shape, style, part, message, cause }) => {
    const [found] = failuresIn(printed(shape, style, message));
    const [repository, issue] = thread.split("#");
    const link = `[${thread}](https://github.com/${repository}/issues/${issue})`;
    const right = found?.part?.part === part ? "yes" : `no: ${found?.part?.part ?? "none"}`;
    const blamed = cause === undefined || found === undefined ? "" : blameFor(found).cause;
    return { line: `| ${link} | ${style} | ${part} | ${right} | ${blamed} |`, right: right === "yes" };
  });
  const count = rows.filter(({ right }) => right).length;
  return [
    `${rows.length} failures that people reported: the figures of the message and the shape of the traceback are theirs, the text is`,
    `put together by \`test/evidence/log\`. The part of the run is right in ${count} of ${rows.length}.`,
    "",
    "| reported in | printed | part | right | what took the room |",
    "|---|---|---|---|---|",
    ...rows.map(({ line }) => line),
    "",
  ].join("\n");
}

describe("the page of explanations", () => {
  const path = join(__dirname, "../../../docs/out-of-memory.md");
  const begins = "## What it is checked against\n\n";

  it("has the table of what was checked", () => {
    const page = readFileSync(path, "utf8");
    const before = page.slice(0, page.indexOf(begins) + begins.length);
    const after = page.includes(ENDS) ? page.slice(page.indexOf(ENDS)) : "";
    if (process.env["UPDATE_DOCS"] === "1") writeFileSync(path, before + table() + after);
    else assert.equal(page, before + table() + after, "npm run generate writes it");
  });
});
