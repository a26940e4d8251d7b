import { strict as assert } from "node:assert";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Analyzer, DocumentAnalysis } from "../../src/analysis/analyzer";
import type { AnalysisOptions } from "../../src/analysis/options";
import { nodeFiles } from "../../src/host/files";
import { answerLine } from "../../src/mcp/messages";
import { createTools } from "../../src/mcp/tools";
import { fakeRun, temporaryFolder } from "../cli/fake";

const info = { name: "vram-lens", version: "1.2.3", instructions: "" };

function server() {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "train.yaml"), "output_dir: out\n");
  const asked: AnalysisOptions[] = [];
  const analyzer: Analyzer = {
    recognise: () => null,
    analyse: async (uri, options) => {
      asked.push(options);
      const runs = [fakeRun(uri)];
      return {
        uri,
        recognition: null,
        report: { schema: "vram-lens/report/1", version: "0", runs, errors: [] },
        dependencies: [],
        runs,
        hover: async () => null,
        fixes: () => [],
        links: () => [],
        whatIf: async () => null,
        whatIfEdits: () => null,
      } satisfies DocumentAnalysis;
    },
    discover: async () => ({ configs: [], skipped: [] }),
    invalidate: () => {},
  };
  const tools = createTools({ analyzer, files: nodeFiles(), cwd, version: "1.2.3" });
  const send = async (message: object | string) => {
    const line = await answerLine(info, tools, typeof message === "string" ? message : JSON.stringify(message));
    return line === undefined ? undefined : JSON.parse(line);
  };
  return { send, asked };
}

function request(method: string, params: object = {}, id = 7) {
  return { jsonrpc: "2.0", id, method, params };
}

describe("model context server", () => {
  it("agrees on a protocol version and offers its tools with schemas", async () => {
    const { send } = server();
    const hello = await send(request("initialize", { protocolVersion: "2025-03-26", capabilities: {} }));
    assert.equal(hello.result.protocolVersion, "2025-03-26");
    assert.deepEqual(hello.result.serverInfo, { name: "vram-lens", version: "1.2.3" });
    assert.equal((await send(request("initialize", { protocolVersion: "1999" }))).result.protocolVersion, "2025-06-18");
    assert.equal(await send({ jsonrpc: "2.0", method: "notifications/initialized" }), undefined);
    const { tools } = (await send(request("tools/list"))).result;
    assert.deepEqual(
      tools.map((tool: { name: string }) => tool.name),
      ["estimate_gpu_memory", "find_fitting_config"],
    );
    assert.deepEqual(tools[0].inputSchema.required, ["path"]);
  });

  it("returns the report, with suggestions only where they are asked for", async () => {
    const { send, asked } = server();
    const args = { path: "train.yaml", device: "24GB", devices: 2, set: { micro_batch_size: 4 } };
    const estimate = await send(request("tools/call", { name: "estimate_gpu_memory", arguments: args }));
    assert.equal(estimate.id, 7);
    assert.equal(estimate.result.structuredContent.runs[0].verdict, "does-not-fit");
    assert.deepEqual(JSON.parse(estimate.result.content[0].text), estimate.result.structuredContent);
    const [{ componentsGiB, usedGiB }] = estimate.result.structuredContent.runs;
    const sizes = Object.values<number>(componentsGiB);
    assert.ok(
      sizes.every((size) => size > 0),
      "what is next to none is left out",
    );
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      usedGiB,
    );
    assert.deepEqual(asked[0], { device: "24GB", deviceCount: 2, set: { micro_batch_size: "4" }, plans: false });
    await send(request("tools/call", { name: "find_fitting_config", arguments: { path: "train.yaml" } }));
    assert.equal(asked[1]?.plans, true);
  });

  it("marks a result without a run as an error the model can read", async () => {
    const { send } = server();
    const { result } = await send(
      request("tools/call", { name: "estimate_gpu_memory", arguments: { path: "no.yaml" } }),
    );
    assert.equal(result.isError, true);
    assert.match(result.structuredContent.errors[0], /no such file/);
  });

  for (const [message, code] of [
    ["{", -32700],
    [{ id: 1, method: "ping" }, -32600],
    [request("resources/list"), -32601],
    [request("tools/call", { name: "rm" }), -32602],
    [request("tools/call", { name: "estimate_gpu_memory", arguments: { path: 1 } }), -32602],
  ] as const) {
    it(`answers ${typeof message === "string" ? message : JSON.stringify(message)} with ${code}`, async () => {
      assert.equal((await server().send(message)).error.code, code);
    });
  }

  it("names the argument nearest to one that it has not", async () => {
    const args = { path: "train.yaml", sett: { bf16: true } };
    const { error } = await server().send(request("tools/call", { name: "estimate_gpu_memory", arguments: args }));
    assert.equal(error.code, -32602);
    assert.equal(error.message, 'no argument called "sett" (did you mean set?)');
  });

  it("answers ping", async () => {
    assert.deepEqual((await server().send(request("ping"))).result, {});
  });
});
