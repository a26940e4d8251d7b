/** Runs the suite inside the extension host and leaves its outcome in the file that VRAM_LENS_RESULTS names. */
import { renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** How long the editor may take for anything before it counts as missing, milliseconds. */
const PATIENCE = 20_000;

export interface HostTest {
  readonly name: string;
  readonly run: () => Promise<void>;
}

export interface HostResult {
  readonly name: string;
  readonly error: string | null;
  readonly seconds: number;
}

/** Calls `read` until it gives something other than undefined. */
export async function eventually<T>(what: string, read: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (const deadline = Date.now() + PATIENCE; ; ) {
    const value = await read();
    if (value !== undefined) return value;
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await sleep(100);
  }
}

/** Runs the tests one after the other, as they share the editor, and fails when one of them does. */
export async function runAll(tests: readonly HostTest[]): Promise<void> {
  const results: HostResult[] = [];
  for (const test of tests) {
    const started = performance.now();
    const error = await test.run().then(
      () => null,
      (reason: unknown) => (reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)),
    );
    results.push({ name: test.name, error, seconds: (performance.now() - started) / 1000 });
    // Without a running extension the others would only wait.
    if (error !== null && results.length === 1) break;
  }
  const file = process.env["VRAM_LENS_RESULTS"];
  if (file !== undefined) {
    // Whole or not at all: the file is read as soon as it is there.
    writeFileSync(`${file}.part`, JSON.stringify(results));
    renameSync(`${file}.part`, file);
  }
  const failed = results.filter((result) => result.error !== null);
  if (failed.length > 0) throw new Error(failed.map((result) => `${result.name}: ${result.error}`).join("\n"));
}
