/** The analysis thread behind a real connection: cancelled, restarted, killed, and not to be had. */
import { strict as assert } from "node:assert";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import type { Hover } from "vscode-languageserver/node";
import { nodeThreads } from "../../src/server/apart/node-threads";
import { RemoteAnalyzer, type ThreadSource } from "../../src/server/apart/remote";
import { CLIENT_COMMANDS, type ReportResult } from "../../src/server/protocol";
import { Arrivals, connect, type TestClient, VSCODE } from "./client";

const A = "file:///w/a.yaml";
const B = "file:///w/b.yaml";
const MODELS = join(__dirname, "..", "..", "models");

async function bundled(entry: string, outfile: string): Promise<string> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    logLevel: "error",
    mainFields: ["module", "main"],
  });
  return outfile;
}

describe("the analysis thread", function () {
  // Real threads and a bundler beside other suites: a machine that is busy elsewhere may start one too late.
  this.retries(1);
  let folder: string;
  let program: string;
  let client: TestClient | undefined;
  /** What threads read of the server. */
  let reads: Arrivals<string>;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "vram-lens-threads-"));
    program = await bundled(join(__dirname, "threads", "program.ts"), join(folder, "program.js"));
  });
  afterEach(() => client?.dispose());
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** A client of a server whose analyses are made by the program's threads. */
  async function served(source: Partial<ThreadSource> = {}, path = program): Promise<TestClient> {
    reads = new Arrivals();
    client = await connect(
      VSCODE,
      { commands: Object.values(CLIENT_COMMANDS), fileRequests: true },
      {
        createAnalyzer: (runtime, log) => {
          const { files } = runtime;
          const readText = (uri: string) => {
            reads.push(uri);
            return files.readText(uri);
          };
          const watched = { ...runtime, files: { ...files, readText } };
          return new RemoteAnalyzer({ ...nodeThreads(path, log), ...source }, watched);
        },
        runtime: {
          files: { readText: async () => undefined, stat: async () => undefined, list: async () => [] },
          readModelData: async (name) => readFileSync(join(MODELS, name), "utf8"),
          hubCaches: [],
          workspaceFolders: [],
        },
      },
    );
    return client;
  }

  const ready = ({ statuses }: TestClient, uri: string) =>
    statuses.next(({ uri: of, state }) => of === uri && state === "ready");
  const hover = ({ rpc }: TestClient, uri: string) =>
    rpc.sendRequest<Hover | null>("textDocument/hover", { textDocument: { uri }, position: { line: 0, character: 1 } });

  it("answers as the server's own thread would", async () => {
    const client = await served();
    const first = ready(client, A);
    await client.open(A, "batch: 30\n");
    assert.equal((await first).run?.verdict, "does-not-fit");
    assert.equal((await client.pull(A)).items?.[0]?.code, "does-not-fit");
    assert.ok(await hover(client, A));
  });

  it("ends work on a version when there is a newer one, and shows no old total as current meanwhile", async () => {
    const client = await served();
    const first = ready(client, A);
    await client.open(A, "batch: 3\n");
    assert.equal((await first).run?.verdict, "fits");
    const computing = client.statuses.next(({ state }) => state === "computing");
    await client.change(A, "batch: 30\nstop: yes\n", 2);
    assert.equal((await computing).run?.verdict, "fits");
    // It never answers of its own accord: only the newer version makes it listen again.
    await reads.next((uri) => uri === A);
    const second = ready(client, A);
    await client.change(A, "batch: 30\n", 3);
    assert.equal((await second).run?.verdict, "does-not-fit");
    assert.deepEqual(
      client.log.all.filter((line) => line.includes("started again")),
      [],
    );
  });

  it("is ended and started again where it does not listen", async () => {
    const client = await served({ grace: 50 });
    await client.open(A, "batch: 30\nhang: yes\n");
    await reads.find((uri) => uri === A);
    const done = ready(client, A);
    await client.change(A, "batch: 30\n", 2);
    assert.equal((await done).run?.verdict, "does-not-fit");
    assert.ok(await client.log.find((line) => line.includes("started again")));
  });

  it("answers for others when one document hangs it", async () => {
    const client = await served({ patience: 200 });
    await client.open(A, "batch: 30\nhang: yes\n");
    await reads.find((uri) => uri === A);
    const other = ready(client, B);
    const failed = client.statuses.next(({ uri, state }) => uri === A && state === "failed");
    await client.open(B, "batch: 3\n");
    assert.match((await failed).because, /no answer from the analysis thread/);
    // The other was asked beside it and may have to be asked again.
    await client.change(B, "batch: 4\n", 2);
    assert.equal((await other).run?.verdict, "fits");
  });

  it("asks again once when it dies, and says so when it dies of the same again", async () => {
    const client = await served();
    const done = ready(client, A);
    await client.open(A, `batch: 30\nonce: ${join(folder, "died")}\n`);
    assert.equal((await done).run?.verdict, "does-not-fit");
    const failed = client.statuses.next(({ uri, state }) => uri === B && state === "failed");
    await client.open(B, "batch: 30\ndie: yes\n");
    assert.match((await failed).because, /no answer from the analysis thread/);
    // What was analysed by the thread that died is analysed again by whoever asks.
    assert.ok(await hover(client, A));
  });

  it("is done without where there are no threads, and the log says so", async () => {
    const client = await served({
      start: () => {
        throw new Error("no threads");
      },
    });
    const done = ready(client, A);
    await client.open(A, "batch: 30\n");
    assert.equal((await done).run?.verdict, "does-not-fit");
    assert.ok(await client.log.find((line) => line.includes("no analysis thread (Error: no threads)")));
  });

  it("runs the analysis itself", async function () {
    this.timeout(20_000);
    const apart = join(__dirname, "..", "..", "src", "server", "apart");
    await bundled(join(apart, "worker.ts"), join(folder, "analysis.js"));
    const client = await served({}, await bundled(join(apart, "thread.ts"), join(folder, "thread.js")));
    const done = ready(client, A);
    const text =
      "model_name_or_path: meta-llama/Llama-3.2-1B\noutput_dir: o\nbf16: true\nper_device_train_batch_size: 1\n";
    await client.open(A, text);
    assert.ok(((await done).run?.usedPeakBytes ?? 0) > 2 ** 33);
    const report = await client.rpc.sendRequest<ReportResult | null>("vramlens/report", { uri: A });
    assert.equal(report?.report.runs[0]?.model?.family, "llama");
  });
});
