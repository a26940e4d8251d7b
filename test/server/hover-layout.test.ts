/** How a hover is laid out: what to do first stands first, and in a notebook's cell no line is wider than the picture. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { HoverContent } from "../../src/analysis/analyzer";
import { type HoverContext, toHover } from "../../src/server/hover";
import { inShortLines } from "../../src/server/hoverLines";
import { CLIENT_COMMANDS } from "../../src/server/protocol";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { LLAMA } from "../analysis/whole-runs";

const CONTENT: HoverContent = {
  ...{ lead: "**Does not fit** · 99.4 GiB", picture: null, table: "", breakdown: "", markdown: "", runId: "run" },
  ...{ next: "This key: 10.2 GiB per sample.", below: "What it does.", saidByFinding: false, needsPlan: true },
  range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } },
};
const CONTEXT: HoverContext = {
  ...{ uri: "file:///w/a.yaml", markdown: true, pictures: "dark", locale: "en" },
  commands: new Set(Object.values(CLIENT_COMMANDS)),
};

function shown(content: Partial<HoverContent>, context: Partial<HoverContext> = {}): string {
  const { contents } = toHover({ ...CONTENT, ...content }, { ...CONTEXT, ...context });
  return (contents as { value: string }).value;
}

/** Labels of the links, by line. */
const links = (text: string): string[][] =>
  text
    .split("\n")
    .map((line) => [...line.matchAll(/\[([^\]]*)\]\(command:/g)].map(([, label = ""]) => label))
    .filter((labels) => labels.length > 0);

describe("the hover's layout", () => {
  it("has the best plan in a line of its own, and the rest in the next", () => {
    const best = { title: "Fused cross-entropy (Liger): 48.1 GiB", says: "−51.3 GiB · −23 % time · same results" };
    const text = shown({ best, batch: { micro_batch_size: "4", gradient_accumulation_steps: "4" } });
    assert.deepEqual(links(text), [[`${best.title} · ${best.says}`], ["Set 4 × 4", "All plans…", "Choose GPU"]]);
    assert.match(text, /^Apply \[Fused/m);
    assert.deepEqual(links(shown({})), [["Apply the best plan", "All plans…", "Choose GPU"]]);
  });

  it("links first to what states the model or the number of GPUs", () => {
    assert.deepEqual(links(shown({ open: { what: "model" }, needsPlan: false })), [
      ["Point to a local folder…", "Choose from the catalogue…", "Open panel"],
    ]);
    assert.deepEqual(links(shown({ open: { what: "device" }, needsPlan: false })), [["Choose GPU", "Open panel"]]);
    const text = shown({ open: { what: "count", title: "State 4 GPUs", value: "4" }, needsPlan: false });
    assert.deepEqual(links(text), [["State 4 GPUs", "Open panel", "Choose GPU"]]);
    const [, args = ""] = /vramlens\.pin\?([^)]*)/.exec(text) ?? [];
    assert.deepEqual(JSON.parse(decodeURIComponent(args)), ["file:///w/a.yaml", "device.count", "4"]);
  });

  it("knows what is open as the findings do", async () => {
    const train = (model: string) =>
      `model_name_or_path: ${model}\noutput_dir: out\nbf16: true\nper_device_train_batch_size: 4\ndeepspeed: ds.json\n`;
    const big = { ...LLAMA, hidden_size: 4096, intermediate_size: 14_336, num_hidden_layers: 32 };
    const files = {
      "train.yaml": train("./model"),
      "unknown.yaml": train("someone/private-model"),
      "ds.json": JSON.stringify({ bf16: { enabled: true }, zero_optimization: { stage: 3 } }),
      "model/config.json": JSON.stringify(big),
    };
    const analyzer = createAnalyzer(memoryRuntime(files));
    const at = async (name: string) => {
      const analysis = await analyzer.analyse(uri(name), { device: "24GB" });
      return (await analysis.hover(3, 3))?.open;
    };
    assert.deepEqual(await at("unknown.yaml"), { what: "model" });
    const cardless = await analyzer.analyse(uri("train.yaml"), {});
    assert.deepEqual((await cardless.hover(3, 3))?.open, { what: "device" });
    const open = await at("train.yaml");
    assert.ok(open?.what === "count", JSON.stringify(open));
    assert.match(open.title, new RegExp(`^State ${open.value} GPUs$`));
  });
});

describe("a hover in a notebook's cell", () => {
  const TEXT =
    "*Assumes* weights in bfloat16, as in the checkpoint · every sequence at `max_length`: 2,048 tokens · batches of one length; " +
    "varying ones fragment memory, `expandable_segments:True` avoids it · [train.yaml:10](file:///a/very/long/path/train.yaml)";
  const seen = (line: string) => line.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[*`]/g, "");

  it("has short lines that keep code and links whole", () => {
    const lines = inShortLines(TEXT).split("  \n");
    assert.ok(lines.length >= 3);
    for (const line of lines) {
      assert.ok(seen(line).length <= 62, line);
      assert.equal(line.split("`").length % 2, 1, line);
    }
    assert.equal(lines.join(" "), TEXT);
  });

  it("breaks Chinese, which has no blanks", () => {
    const lines = inShortLines("每张 GPU 一次前向的序列数：激活和 logits 按比例增长，".repeat(4)).split("  \n");
    assert.ok(lines.length >= 3, lines.join("\n"));
  });

  it("is as wide as elsewhere outside of one", () => {
    assert.ok(shown({ below: TEXT }).includes(TEXT));
    assert.ok(!shown({ below: TEXT }, { inCell: true }).includes(TEXT));
  });
});
