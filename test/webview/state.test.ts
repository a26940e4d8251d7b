import { strict as assert } from "node:assert";
import { pinPathOf } from "../../src/formats/pins";
import { ask, lookAhead, newAsker, settle } from "../../webview-ui/model/asker";
import { change, controlsOf, neighbours, parseCount, setKey, type WhatIfSet } from "../../webview-ui/model/controls";
import { parseAnswer, settleField } from "../../webview-ui/model/settle";
import { type Action, initialState, reduce, type State, savedOf, shownRun } from "../../webview-ui/state";
import { reportMessage } from "./harness";
import { doesNotFit, reportOf, scaled } from "./sample";

const run = doesNotFit();
const smaller = scaled(run, 0.25);

function stateAfter(...actions: readonly Action[]): State {
  return actions.reduce(reduce, initialState(undefined, "en"));
}

const report: Action = { type: "host", message: reportMessage(reportOf(run)) };
const tryBatch = (value: string): Action => ({ type: "try", set: { micro_batch_size: value } });
const asked = (set: WhatIfSet): Action => ({ type: "ask", set });
const answer = (id: number, result: typeof run | null): Action => ({
  type: "host",
  message: { type: "whatIfResult", id, runId: run.id, run: result },
});

describe("webview state", () => {
  it("shows the report's run, and what is tried once it is known", () => {
    assert.equal(shownRun(stateAfter(report)), run);
    const waiting = stateAfter(report, tryBatch("2"), asked({ micro_batch_size: "2" }));
    assert.equal(shownRun(waiting), run);
    assert.equal(shownRun(reduce(waiting, answer(1, smaller))), smaller);
  });

  it("ignores an answer to a superseded question", () => {
    const state = stateAfter(
      report,
      tryBatch("2"),
      asked({ micro_batch_size: "2" }),
      tryBatch("4"),
      asked({ micro_batch_size: "4" }),
    );
    assert.equal(reduce(state, answer(1, smaller)), state);
    assert.equal(shownRun(reduce(state, answer(2, smaller))), smaller);
  });

  it("keeps the last known run while the next is being asked for", () => {
    const state = stateAfter(
      report,
      tryBatch("2"),
      asked({ micro_batch_size: "2" }),
      answer(1, smaller),
      tryBatch("4"),
    );
    assert.equal(shownRun(state), smaller);
  });

  it("shows a run that was looked ahead at once", () => {
    const state = stateAfter(report, asked({ micro_batch_size: "2" }), answer(1, smaller), tryBatch("2"));
    assert.equal(shownRun(state), smaller);
  });

  it("goes back to the file's run on reset", () => {
    const state = stateAfter(report, tryBatch("2"), asked({ micro_batch_size: "2" }), answer(1, smaller), {
      type: "try",
      set: {},
    });
    assert.equal(shownRun(state), run);
  });

  it("says when values cannot be applied", () => {
    const state = stateAfter(report, tryBatch("3"), asked({ micro_batch_size: "3" }), answer(1, null));
    assert.equal(state.refused, "");
    assert.equal(shownRun(state), run);
  });

  it("says why values have no estimate and keeps the last one in sight", () => {
    const nothing = {
      ...run,
      perDevice: null,
      findings: [{ ...run.findings[0]!, message: "No estimate: optimizer x." }],
    };
    const waiting = stateAfter(
      report,
      tryBatch("2"),
      asked({ micro_batch_size: "2" }),
      answer(1, smaller),
      tryBatch("3"),
    );
    const state = [asked({ micro_batch_size: "3" }), answer(2, nothing)].reduce(reduce, waiting);
    assert.equal(state.refused, "No estimate: optimizer x.");
    assert.equal(shownRun(state), smaller);
    assert.equal(reduce(state, { type: "try", set: {} }).refused, null);
  });

  it("ends the what-if when the files say it", () => {
    const settings = run.settings.map((one) => (one.name === "micro_batch_size" ? { ...one, value: 2 } : one));
    const applied: Action = { type: "host", message: reportMessage(reportOf({ ...smaller, settings })) };
    const tried = stateAfter(report, { type: "try", set: { micro_batch_size: "2", optimizer: "sgd" } }, applied);
    assert.deepEqual(tried.set, { optimizer: "sgd" });
    const state = stateAfter(report, tryBatch("2"), asked({ micro_batch_size: "2" }), answer(1, smaller), applied);
    assert.deepEqual(state.set, {});
    assert.equal(state.tried, null);
  });

  it("keeps what is tried over a restart of the analysis and a reload of the window", () => {
    for (const reason of ["starting", "failed", "not-recognised"] as const) {
      const gone: Action = { type: "host", message: { type: "empty", reason, message: "", locale: "en" } };
      const state = stateAfter(report, tryBatch("2"), gone);
      assert.equal(savedOf(state).uri, "file:///work/llama-1b/train.yaml");
      assert.deepEqual(reduce(state, report).set, { micro_batch_size: "2" });
      const reloaded: State = [gone, report].reduce(reduce, initialState(savedOf(state), "en"));
      assert.deepEqual(reloaded.set, { micro_batch_size: "2" });
    }
  });

  it("keeps what is tried when the same run is reported again, and asks anew", () => {
    const again: Action = { type: "host", message: reportMessage(reportOf(scaled(run, 0.9))) };
    const state = stateAfter(report, tryBatch("2"), asked({ micro_batch_size: "2" }), answer(1, smaller), again);
    assert.deepEqual(state.set, { micro_batch_size: "2" });
    assert.equal(state.asker.answers.size, 0);
    assert.equal(state.asker.nextId, 2);
  });

  it("drops what is tried when another document is shown", () => {
    const message = { ...reportMessage(reportOf(run)), uri: "file:///work/other.yaml" };
    const state = stateAfter(report, tryBatch("2"), { type: "host", message });
    assert.deepEqual(state.set, {});
  });

  it("survives hiding: what was saved is there after the next report", () => {
    const saved = savedOf(
      stateAfter(report, tryBatch("2"), { type: "arrange", change: { opened: ["activations"], cursor: 0.5 } }),
    );
    assert.equal(saved.uri, "file:///work/llama-1b/train.yaml");
    const state = reduce(initialState(saved, "en"), report);
    assert.deepEqual(state.set, { micro_batch_size: "2" });
    assert.deepEqual(state.arrangement, { opened: ["activations"], allPlans: false, cursor: 0.5, reading: "part" });
  });

  it("takes nothing of another document from what was saved", () => {
    const saved = savedOf(stateAfter(report, tryBatch("2")));
    const message = { ...reportMessage(reportOf(run)), uri: "file:///work/other.yaml" };
    assert.deepEqual(reduce(initialState(saved, "en"), { type: "host", message }).set, {});
  });

  it("reads saved state of any shape without failing", () => {
    for (const odd of [null, 7, "x", [], { set: 3, arrangement: { opened: "weights", cursor: "a" }, runId: 4 }]) {
      const state = reduce(initialState(odd, "en"), report);
      assert.equal(shownRun(state), run);
      assert.deepEqual(state.set, {});
      assert.deepEqual(state.arrangement, { opened: [], allPlans: false, cursor: null, reading: "part" });
    }
  });

  it("clears the page for an empty message and counts notices", () => {
    const empty: Action = { type: "host", message: { type: "empty", reason: "off", message: "", locale: "zh-cn" } };
    const state = stateAfter(report, tryBatch("2"), empty);
    assert.equal(shownRun(state), null);
    assert.equal(state.locale, "zh-cn");
    const outcome: Action = {
      type: "host",
      message: { type: "outcome", action: "settle", ok: false, message: "no folder" },
    };
    assert.equal(stateAfter(report, outcome, outcome).notice?.serial, 2);
  });
});

describe("webview what-if", () => {
  const control = (name: string, set: WhatIfSet = {}) =>
    controlsOf(run, set)
      .flatMap((group) => group.controls)
      .find((one) => one.name === name);

  it("offers the file's own value among the options", () => {
    assert.deepEqual(control("micro_batch_size")?.options, ["1", "2", "4", "8", "16"]);
    const odd = { ...run, settings: [{ ...run.settings[1]!, value: 6 }] };
    const found = controlsOf(odd, {})[0]?.controls[0];
    assert.deepEqual(found?.options, ["1", "2", "4", "6", "8", "16"]);
    assert.equal(found?.base, "6");
  });

  it("does not take an unresolved value for the default", () => {
    const unresolved = { ...run, settings: [{ ...run.settings[0]!, name: "compute_dtype", value: null }] };
    const found = controlsOf(unresolved, {})
      .flatMap((group) => group.controls)
      .find((one) => one.name === "compute_dtype");
    assert.equal(found?.base, null);
  });

  it("leaves out what the file says from the set", () => {
    const batch = control("micro_batch_size")!;
    assert.deepEqual(change({}, batch, "4"), { micro_batch_size: "4" });
    assert.deepEqual(change({ micro_batch_size: "4", optimizer: "sgd" }, batch, "8"), { optimizer: "sgd" });
  });

  it("shows rank and offload only where they mean something", () => {
    assert.equal(control("lora_rank"), undefined);
    assert.notEqual(control("lora_rank", { adapter: "lora" }), undefined);
    assert.equal(control("offload_param", { zero_stage: "2" }), undefined);
    assert.notEqual(control("offload_param", { zero_stage: "3" }), undefined);
  });

  it("offers ZeRO or FSDP, never both", () => {
    assert.equal(control("fsdp"), undefined);
    const sharded = { ...run, settings: [{ ...run.settings[0]!, name: "fsdp", value: "full_shard" }] };
    const names = controlsOf(sharded, {}).flatMap((group) => group.controls.map((one) => one.name));
    assert.ok(names.includes("fsdp"));
    assert.ok(!names.includes("zero_stage"));
  });

  it("names a set the same whatever the order", () => {
    assert.equal(setKey({ a: "1", b: "2" }), setKey({ b: "2", a: "1" }));
    assert.notEqual(setKey({ a: "1" }), setKey({ a: "2" }));
  });

  it("looks ahead one option away from what is chosen, one question at a time", () => {
    const sets = neighbours(run, {});
    assert.ok(sets.every((set) => Object.keys(set).length === 1));
    assert.ok(sets.some((set) => set["gradient_checkpointing"] === "true"));
    let asker = newAsker();
    const first = lookAhead(asker, sets)!;
    asker = ask(asker, first);
    assert.equal(lookAhead(asker, sets), undefined);
    asker = settle(asker, 1, smaller);
    assert.notEqual(setKey(lookAhead(asker, sets)!), setKey(first));
  });

  it("looks at one control only when asked to", () => {
    const sets = neighbours(run, {}, "zero_stage");
    assert.deepEqual(sets, [{ zero_stage: "1" }, { zero_stage: "2" }, { zero_stage: "3" }]);
  });

  it("keeps a bounded number of answers", () => {
    let asker = newAsker();
    for (let index = 0; index < 500; index++) asker = settle(ask(asker, { n: String(index) }), index + 1, null);
    assert.ok(asker.answers.size <= 160);
    assert.ok(asker.answers.has(setKey({ n: "499" })));
  });

  it("takes whole numbers above zero and nothing else", () => {
    assert.equal(parseCount(" 16 "), "16");
    assert.equal(parseCount("4,096"), "4096");
    for (const text of ["", "0", "-1", "1.5", "abc", "1e3", "99999999999"]) assert.equal(parseCount(text), undefined);
  });
});

describe("webview assumptions", () => {
  it("picks the field for the key", () => {
    assert.equal(settleField("device").kind, "device");
    assert.equal(settleField("sequence_length").kind, "number");
    assert.ok(settleField("attention").options.includes("sdpa"));
    assert.equal(settleField("model").kind, "text");
  });

  it("asks only for what a pin can hold", () => {
    assert.equal(settleField("bf16.enabled").kind, "config");
    assert.equal(settleField("max_grad_norm").kind, "config");
    for (const name of ["load_dtype", "world_size", "sequence_length", "attention", "model", "task"]) {
      assert.notEqual(pinPathOf(name), undefined);
      assert.notEqual(settleField(name).kind, "config");
    }
  });

  it("takes answers the pin accepts", () => {
    assert.equal(parseAnswer(settleField("sequence_length"), " 2048 "), "2048");
    assert.equal(parseAnswer(settleField("sequence_length"), "two"), undefined);
    assert.equal(parseAnswer(settleField("attention"), "sdpa"), "sdpa");
    assert.equal(parseAnswer(settleField("attention"), "magic"), undefined);
    assert.equal(parseAnswer(settleField("model"), "./model"), "./model");
    assert.equal(parseAnswer(settleField("model"), "  "), undefined);
  });
});
