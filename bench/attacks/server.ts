/** The built server as its own process: paths that never end, storms, and being killed. */
import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import type { ReportResult } from "../../src/server/protocol";
import { LanguageClient } from "../client";
import type { Campaign } from "./campaign";

const root = join(__dirname, "..", "..");
/** Milliseconds that an answer may take where a path never ends: the deadline of reading, several times over. */
const PATIENCE = 30_000;
/** Milliseconds that a process may take to end once it is told to. */
const UNTIL_ENDED = 5000;
const STORM = 5000;
const BURSTS = 500;
const LIVES = 5;
const TRAIN =
  "model_name_or_path: meta-llama/Llama-3.2-1B\noutput_dir: o\nbf16: true\nper_device_train_batch_size: 2\n";

const SCRIPT = `from helpers import build
from transformers import Trainer, TrainingArguments
Trainer(model=build("meta-llama/Llama-3.2-1B"), args=TrainingArguments("o", bf16=True)).train()
`;

/** In milliseconds. */
interface Gap {
  readonly whole: number;
  /** Processor time of it: the rest other processes had. */
  readonly own: number;
}

interface Served {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly client: LanguageClient;
  /** The longest time since the last call in which the server did not listen. */
  gap(): Promise<Gap>;
}

async function serve(folder: string): Promise<Served> {
  const probe = join(root, "bench", "delay.cjs");
  const child = spawn(process.execPath, ["-r", probe, join(root, "dist", "server.js"), "--stdio"], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const client = new LanguageClient(child.stdout, child.stdin);
  await client.initialize(folder);
  const gap = (): Promise<Gap> =>
    new Promise((resolve) => {
      child.stderr.once("data", (data: Buffer) => {
        const [, whole, own] = /gap ([\d.]+) own (\S+)/.exec(data.toString()) ?? [];
        resolve({ whole: Number(whole), own: Number(own) });
      });
      child.kill("SIGUSR2");
    });
  await gap();
  return { child, client, gap };
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), milliseconds);
  });
  const first = await Promise.race([work, late]);
  clearTimeout(timer);
  return first;
}

function ended(child: Served["child"]): Promise<unknown> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(null);
    else child.once("exit", resolve);
  });
}

/** Paths of a config that are devices, pipes or links to them. */
function endless(folder: string): Readonly<Record<string, string>> {
  execFileSync("mkfifo", [join(folder, "pipe.json")]);
  symlinkSync("/dev/urandom", join(folder, "link.json"));
  symlinkSync(join(folder, "round.json"), join(folder, "round.json"));
  mkdirSync(join(folder, "folder.json"));
  return {
    "/dev/zero": "/dev/zero",
    "a pipe": "pipe.json",
    "a link to /dev/urandom": "link.json",
    "a link to itself": "round.json",
    "a folder": "folder.json",
    "standard input": "/dev/stdin",
  };
}

/** Modules that a script imports and that are no files of code, each alone in its folder. */
function endlessModules(folder: string): Readonly<Record<string, string>> {
  const makes: Readonly<Record<string, (at: string) => void>> = {
    "an imported pipe": (at) => execFileSync("mkfifo", [at]),
    "an imported device": (at) => symlinkSync("/dev/zero", at),
    "an imported link to itself": (at) => symlinkSync(at, at),
    "an imported folder": (at) => mkdirSync(at),
    "imported text without end": (at) => writeFileSync(at, "x = [\n".repeat(5_000_000)),
  };
  return Object.fromEntries(
    Object.entries(makes).map(([what, make], index) => {
      const own = join(folder, `script${index}`);
      mkdirSync(own);
      make(join(own, "helpers.py"));
      const file = join(own, "train.py");
      writeFileSync(file, SCRIPT);
      return [what, file];
    }),
  );
}

/** Files that never end, in one server after another; each is told to exit while it may still be reading. */
async function paths(folder: string, faults: string[]): Promise<number> {
  const configs = Object.entries(endless(folder)).map(([what, path]) => {
    const file = join(folder, `train-${path.replace(/\W/g, "-")}.yaml`);
    writeFileSync(file, `${TRAIN}deepspeed: ${path}\n`);
    return [what, file] as const;
  });
  const all = [...configs, ...Object.entries(endlessModules(folder))];
  for (const [what, file] of all) {
    const { child, client } = await serve(folder);
    const answer = within(PATIENCE, client.openAndWait(file));
    if ((await answer) === "late") faults.push(`${what}: no answer in ${PATIENCE} ms`);
    await client.request("shutdown", {}).catch(() => undefined);
    await client.notify("exit").catch(() => undefined);
    if ((await within(UNTIL_ENDED, ended(child))) === "late") {
      faults.push(`${what}: exit does not end the server`);
      child.kill("SIGKILL");
    }
  }
  return all.length;
}

/** The number of micro-batches that a report says its run has. */
function microBatches(answer: unknown): unknown {
  const runs = (answer as ReportResult).report?.runs ?? [];
  return runs[0]?.settings.find(({ name }) => name === "gradient_accumulation_steps")?.value;
}

/** Edits with questions about them, half of which are taken back, while the document is closed and opened and its thread is busy. */
async function bursts(folder: string, faults: string[]): Promise<Gap> {
  const { child, client, gap } = await serve(folder);
  const file = join(folder, "burst.yaml");
  const uri = `file://${file}`;
  writeFileSync(file, TRAIN);
  try {
    await client.openAndWait(file);
    await gap();
    const asked: Promise<unknown>[] = [];
    const position = { line: 0, character: 3 };
    for (let version = 2; version <= BURSTS; version++) {
      const text = `${TRAIN}gradient_accumulation_steps: ${version}\n`;
      if (version % 50 === 0) {
        await client.notify("textDocument/didClose", { textDocument: { uri } });
        await client.notify("textDocument/didOpen", { textDocument: { uri, languageId: "yaml", version, text } });
      } else
        await client.notify("textDocument/didChange", {
          textDocument: { uri, version },
          contentChanges: [{ text }],
        });
      for (const method of ["hover", "completion", "codeAction", "inlayHint"]) {
        const range = { start: position, end: { line: 4, character: 0 } };
        const params = { textDocument: { uri }, position, range, context: { diagnostics: [] } };
        if (version % 2 === 0) asked.push(client.askAndCancel(`textDocument/${method}`, params));
        else asked.push(client.request(`textDocument/${method}`, params).catch(() => undefined));
      }
    }
    const answer = await within(PATIENCE, client.request("vramlens/report", { uri }));
    if (answer === "late") faults.push(`no answer in ${PATIENCE} ms after ${BURSTS} edits with questions`);
    else if (microBatches(answer) !== BURSTS)
      faults.push(`the answer is of version ${microBatches(answer)}, not ${BURSTS}`);
    if ((await within(PATIENCE, Promise.all(asked))) === "late") faults.push("questions without an answer");
    return await gap();
  } finally {
    child.kill("SIGKILL");
  }
}

/** Thousands of files change at once while a document is open, and the document with them. */
async function storm(folder: string, faults: string[]): Promise<{ readonly gap: Gap; readonly bytes: number }> {
  const { child, client, gap } = await serve(folder);
  try {
    const file = join(folder, "train.yaml");
    writeFileSync(file, TRAIN);
    await client.openAndWait(file);
    await gap();
    const changes = Array.from({ length: STORM }, (_, k) => ({ uri: `file://${folder}/many/${k}.yaml`, type: 2 }));
    for (const { uri } of changes) writeFileSync(uri.slice("file://".length), TRAIN);
    await client.notify("workspace/didChangeWatchedFiles", { changes });
    for (let version = 2; version <= STORM; version++)
      await client.notify("textDocument/didChange", {
        textDocument: { uri: `file://${file}`, version },
        contentChanges: [{ text: `${TRAIN}gradient_accumulation_steps: ${version}\n` }],
      });
    const answer = await within(PATIENCE, client.request("vramlens/report", { uri: `file://${file}` }));
    if (answer === "late") faults.push(`no answer in ${PATIENCE} ms after ${STORM} changes`);
    else if (microBatches(answer) !== STORM)
      faults.push(`the answer is of version ${microBatches(answer)}, not ${STORM}`);
    const kib = Number(execFileSync("ps", ["-o", "rss=", "-p", String(child.pid)], { encoding: "utf8" }).trim());
    return { gap: await gap(), bytes: kib * 1024 };
  } finally {
    child.kill("SIGKILL");
  }
}

/** Killed while it works, and started again: the next one answers. */
async function lives(folder: string, faults: string[]): Promise<void> {
  const file = join(folder, "train.yaml");
  writeFileSync(file, TRAIN);
  for (let life = 0; life < LIVES; life++) {
    const { child, client } = await serve(folder);
    const answer = client.openAndWait(file).catch(() => undefined);
    if (life === LIVES - 1 && (await within(PATIENCE, answer)) === "late") faults.push("no answer after kills");
    child.kill("SIGKILL");
    if ((await within(UNTIL_ENDED, ended(child))) === "late") faults.push("a killed server goes on");
  }
}

export const server: Campaign = async () => {
  const folder = mkdtempSync(join(tmpdir(), "vram-lens-attack-"));
  mkdirSync(join(folder, "many"));
  const faults: string[] = [];
  try {
    const count = await paths(folder, faults);
    const { gap, bytes } = await storm(folder, faults);
    const gaps = [gap, await bursts(folder, faults)];
    await lives(folder, faults);
    const own = Math.max(...gaps.map((one) => one.own));
    return {
      tried: `${count} paths that never end, ${STORM} files and ${STORM} versions changed at once (${Math.round(bytes / 2 ** 20)} MiB), ${BURSTS} edits with ${4 * BURSTS} questions, ${LIVES} kills`,
      faults,
      longest: Math.max(...gaps.map(({ whole }) => whole)),
      longestOf: "gap",
      ...(Number.isFinite(own) ? { own } : {}),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
