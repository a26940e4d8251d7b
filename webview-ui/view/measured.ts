/** What the run was measured at, beside the estimate. */
import type { ReportRun } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { gibUnit, shortDevice } from "../model/format";
import type { View } from "./context";

export function measuredView({ t }: View, { measured, perDevice }: ReportRun): PageNode | null {
  if (measured === undefined || perDevice === null) return null;
  const { card, when, allocatedBytes, reservedBytes, changed, differs } = measured;
  const sized = (allocated: number, reserved: number) => ({
    allocated: gibUnit(allocated, t.locale),
    reserved: gibUnit(reserved, t.locale),
  });
  const said = { card: shortDevice(card), date: when.slice(0, 10), ...sized(allocatedBytes, reservedBytes) };
  return h(
    "div",
    null,
    h("p", null, t("measured.said", said)),
    h("p", null, t("measured.estimate", sized(perDevice.allocatedPeakBytes, perDevice.reservedPeakBytes))),
    changed ? h("p", null, t("measured.changed")) : null,
    differs === undefined
      ? null
      : h(
          "p",
          null,
          t("measured.differs", {
            phase: t.named(`phase.${differs.phase}`, differs.phase),
            measured: gibUnit(differs.measuredBytes, t.locale),
            estimated: gibUnit(differs.estimatedBytes, t.locale),
          }),
        ),
  );
}
