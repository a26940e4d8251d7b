import { strict as assert } from "node:assert";
import { translator } from "../../webview-ui/messages";
import { describeRun, headlineOf } from "../../webview-ui/model/headline";
import { htmlOf } from "../../webview-ui/model/html";
import { csvOf, markdownOf } from "../../webview-ui/model/markdown";
import { pictureOf } from "../../webview-ui/model/picture";
import { doesNotFit, unknownModel, withoutDevice } from "./sample";

const t = translator("en");
const palette = {
  background: "#fff",
  text: "#000",
  quiet: "#666",
  grid: "#eee",
  limit: "#f00",
  area: "#00f",
  fill: () => "#abc",
};

describe("webview headline", () => {
  const said = (run: ReturnType<typeof doesNotFit>) => {
    const { verdict, detail, tone } = headlineOf(run, t);
    return `${tone}: ${verdict} ${detail}`.replaceAll("\u00a0", " ");
  };

  it("says the verdict as the report words it", () => {
    assert.equal(
      said(doesNotFit()),
      "bad: Does not fit 41.2 GiB (40.1–43.0) of 22.8 usable on RTX 4090, peak in backward, 18.4 GiB over",
    );
    assert.equal(
      said(withoutDevice()),
      "none: No GPU chosen 41.2 GiB (40.1–43.0) needed, peak in backward; fits from L40S (48.0 GiB) on",
    );
    assert.equal(said(unknownModel()), "none: Model unknown no estimate without its dimensions");
  });

  it("describes the run in a few words", () => {
    assert.deepEqual(
      describeRun(doesNotFit(), t).map((words) => words.replaceAll("\u00a0", " ")),
      ["meta-llama/Llama-3.2-1B", "1.24 B parameters", "full training", "bf16", "8 × 2,048 tokens"],
    );
  });
});

describe("webview exports", () => {
  it("writes Markdown with the verdict, the breakdown, plans and assumptions", () => {
    const text = markdownOf(doesNotFit(), "llama-1b/train.yaml", t).replaceAll("\u00a0", " ");
    assert.match(text, /^## llama-1b\/train\.yaml\n\n\*\*Does not fit\*\* 41\.2 GiB \(40\.1–43\.0\) of 22\.8 usable/);
    assert.match(text, /\| Optimizer \| 9\.2 \| 22 % \| `optim` \|/);
    assert.match(text, /- Micro-batch 2, accumulation 4: 21\.1 GiB, fits, −20\.1 GiB · 6 % time · same results/);
    assert.match(text, /\(`sequence_length`\)/);
    assert.doesNotMatch(text, /undefined|NaN/);
  });

  it("does not let a file's text break the table", () => {
    const run = doesNotFit();
    const [plan] = run.plans;
    const text = markdownOf({ ...run, plans: [{ ...plan!, title: "a | b\n# <c>" }] }, "x|y", t);
    assert.match(text, /- a \\\| b # \\<c\\>:/);
    assert.match(text, /^## x\\\|y/);
  });

  it("shows the signs in names of keys that would act where they are pasted", () => {
    const run = doesNotFit();
    const [assumption] = run.assumptions;
    const settleWith = "a|b\u001b]8;;x`\n";
    const odd = { ...run, assumptions: [{ ...assumption!, settleWith }] };
    assert.match(markdownOf(odd, "x", t), /\(`a\\\|b\\u001b\]8;;x'\\n`\)/);
    const modules = [{ module: "a\u001b]8;;x", kind: "weights" as const, bytes: 1 }];
    assert.match(csvOf({ ...run, perDevice: { ...run.perDevice!, modules } }), /weights,a\\u001b\]8;;x,1,/);
  });

  it("writes every language without a hole", () => {
    for (const run of [doesNotFit(), withoutDevice(), unknownModel()]) {
      assert.doesNotMatch(markdownOf(run, "x", translator("zh-cn")), /\{\w+\}|undefined|NaN/);
    }
  });

  it("writes CSV that a sheet reads as text and numbers", () => {
    const rows = csvOf(doesNotFit()).split("\r\n");
    assert.equal(rows[0], "component,module,bytes,keys");
    assert.match(rows[1]!, /^weights,,\d+,model_name_or_path$/);
    const run = doesNotFit();
    const odd = {
      ...run,
      perDevice: { ...run.perDevice!, modules: [{ module: '=a,"b"', kind: "weights" as const, bytes: 1 }] },
    };
    assert.match(csvOf(odd), /weights,"'=a,""b""",1,/);
  });

  it("writes a page that stands alone: the picture, the table, plans and assumptions, all escaped", () => {
    for (const run of [doesNotFit(), withoutDevice(), unknownModel()]) {
      const page = htmlOf(run, 'a<b>&"c"', t, palette);
      assert.match(page, /^<!doctype html>/);
      assert.match(page, /<h1>[^<]+<\/h1>\n<svg aria-hidden="true" xmlns/);
      assert.doesNotMatch(page, /NaN|undefined|a<b>|<script|src=|href=/);
      assert.equal(page.match(/<tr>/g)?.length, page.match(/<\/tr>/g)?.length);
      for (const { says } of run.plans.slice(0, 2)) assert.ok(page.includes(says), says);
      // The size stands behind a plan's title, not in it as well.
      for (const text of [page, markdownOf(run, "a", t)]) assert.doesNotMatch(text, /(\d+\.\d)\s?GiB: \1/);
    }
    assert.match(htmlOf(doesNotFit(), "train.yaml", t, palette), /<td>Weights<\/td>/);
  });

  it("draws a picture of well-formed XML, with and without a device or a timeline", () => {
    for (const run of [doesNotFit(), withoutDevice(), unknownModel()]) {
      const { svg, height } = pictureOf(run, 'a<b>&"c"', t, palette);
      assert.match(svg, /^<svg xmlns/);
      assert.ok(height > 100);
      assert.doesNotMatch(svg, /NaN|undefined|a<b>/);
      assert.equal(svg.match(/<g /g)?.length ?? 0, svg.match(/<\/g>/g)?.length ?? 0);
      assert.equal(svg.match(/<text /g)?.length, svg.match(/<\/text>/g)?.length);
    }
  });
});
