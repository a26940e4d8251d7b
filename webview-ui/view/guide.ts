/** The plan in stages and what the run could do as it is; both are answers that come after the report. */
import type { ReportGuide, ReportRun, ReportStage } from "../../src/core/report/schema";
import { saidAsFactor } from "../../src/terms/factor";
import { freedBy } from "../../src/terms/sizes";
import { h, type PageNode } from "../dom/node";
import { factorPercent, gib, gibUnit, integer, shortDevice } from "../model/format";
import { changeButtons } from "./actions";
import type { View } from "./context";
import { deviceButton } from "./devices";
import { icon } from "./icons";
import { rich } from "./rich";

type Freed = ReturnType<typeof freedBy>;

/** null when the run needs no stages. */
export function stagesView(view: View, run: ReportRun, guide: ReportGuide | null): PageNode | null {
  if (guide === null || guide.stages.length === 0) return null;
  const freed = freedBy(guide.stages, run.perDevice?.usedPeakBytes ?? 0);
  return h(
    "ol.stages",
    { key: "stages", attrs: { role: "list" } },
    guide.stages.map((stage, index) => stageView(view, run, stage, index + 1, freed)),
  );
}

function timeText(t: View["t"], factor: number): string {
  const times = saidAsFactor(factor);
  if (times !== undefined) return t("plans.times", { factor: times });
  return Math.round((factor - 1) * 100) === 0
    ? t("plans.sameTime")
    : t("plans.time", { change: factorPercent(factor, t.locale) });
}

function stageView(view: View, run: ReportRun, stage: ReportStage, number: number, freed: Freed): PageNode {
  const { t, send } = view;
  const title = t(`stages.${stage.id}`);
  const target = { runId: run.id, set: stage.set };
  return h(
    "li.stage",
    { key: stage.id },
    h("h3", null, h("span.stage-number", { attrs: { "aria-hidden": "true" } }, String(number)), title),
    h("p.why", null, t(`stages.${stage.id}.why`)),
    h(
      "ul.stage-items",
      { attrs: { role: "list" } },
      stage.items.map((item) =>
        h(
          "li",
          { key: item.lever },
          h("strong", null, item.title),
          h(
            "span.tags",
            null,
            freed(item) <= 0 ? null : h("span", null, t("stages.frees", { size: gib(freed(item), t.locale) })),
            h("span", null, timeText(t, item.stepTimeFactor)),
            item.changes === "nothing" ? null : h(`span.changes-${item.changes}`, null, t(`plans.${item.changes}`)),
            item.needs.length === 0 ? null : h("span", null, t("stages.needs", { list: item.needs.join(", ") })),
          ),
          h("p.why", null, rich(item.why)),
        ),
      ),
    ),
    h(
      "div.stage-end",
      null,
      h(
        `span.fit.${stage.fits ? "good" : "bad"}`,
        null,
        icon(stage.fits ? "good" : "bad"),
        `${gibUnit(stage.usedPeakBytes, t.locale)} ${t(stage.fits ? "plans.fits" : "plans.notYet")}`,
      ),
      // One change alone has said its time above.
      stage.items.length < 2 ? null : h("span.quiet", null, timeText(t, stage.stepTimeFactor)),
      h("span.spring", null),
      changeButtons(view, {
        title,
        apply: () => send({ type: "applyWhatIf", ...target }),
        preview: () => send({ type: "previewWhatIf", ...target }),
      }),
    ),
  );
}

/** null until the answer is there. */
export function limitsView(view: View, run: ReportRun, guide: ReportGuide | null): PageNode | null {
  if (guide === null) return null;
  const { t } = view;
  const { microBatch, sequence, smallestDevice, devices } = guide.limits;
  const reached = (found: { readonly value: number; readonly usedPeakBytes: number }) =>
    t("limits.reached", { value: integer(found.value, t.locale), size: gib(found.usedPeakBytes, t.locale) });
  const card = run.devices.memoryBytes !== null;
  const rows: readonly (readonly [string, string | PageNode] | null)[] = [
    // Of a run that may fit as it is, it is not said that nothing does.
    !card || (microBatch === null && run.verdict === "tight")
      ? null
      : [t("limits.batch"), microBatch === null ? t("limits.none") : reached(microBatch)],
    sequence === null ? null : [t("limits.sequence"), reached(sequence)],
    [
      t("limits.device"),
      smallestDevice === null
        ? t("limits.noDevice")
        : deviceButton(
            view,
            t("limits.deviceSize", {
              name: shortDevice(smallestDevice.name),
              size: gib(smallestDevice.memoryBytes, t.locale),
            }),
            smallestDevice.name,
          ),
    ],
    devices === null ? null : [t("limits.devices"), reached(devices)],
  ];
  return h(
    "div",
    { key: "limits" },
    h(
      "dl.limits",
      null,
      rows.map((row) =>
        row === null ? null : h("div", { key: row[0] }, h("dt", null, row[0]), h("dd", null, row[1])),
      ),
    ),
    h("p.quiet", null, t("limits.note")),
  );
}
