/** The way from a model of somebody's own to its graph. */
import type { ReportRun } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { isScript, runsCode } from "../state";
import type { View } from "./context";

/** Assumptions that another code than the model's own was counted. */
const STANDS_IN: ReadonlySet<string> = new Set(["relative", "branch"]);

/** A way to trace the model that the shown script makes: one that is unknown, that other code stands in for, or that was traced before. */
export function traceView({ state, t, send }: View, run: ReportRun): PageNode | null {
  const traced = run.model?.source === "trace";
  const standsIn = run.assumptions.some(({ id }) => STANDS_IN.has(id));
  if (!runsCode(state) || !isScript(state) || !(run.model === null || traced || standsIn)) return null;
  return h(
    "button.secondary.trace",
    { key: "trace", attrs: { type: "button" }, on: { click: () => send({ type: "trace" }) } },
    t(traced ? "empty.traceAgain" : "empty.trace"),
  );
}
