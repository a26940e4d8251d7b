/** Findings of the run and files that could not be read, each leading to its place. */
import type { Report, ReportRun } from "../../src/core/report/schema";
import { VERDICT_FINDINGS } from "../../src/terms/verdict-findings";
import { h, type PageNode } from "../dom/node";
import { fileName } from "../model/format";
import type { View } from "./context";
import { icon } from "./icons";
import { rich } from "./rich";

const ORDER = ["error", "warning", "information", "hint"];
const ICONS = { error: "bad", warning: "warn", information: "info", hint: "info" } as const;

/** Findings but those that the verdict above says; where the pool must be cleared to fit it does not say so. */
function besideVerdict({ findings, perDevice }: ReportRun): ReportRun["findings"] {
  if (perDevice === null) return findings;
  return findings.filter(({ code }) => !VERDICT_FINDINGS.has(code) || (code === "tight" && perDevice.releases));
}

export function findingsView({ t, send }: View, run: ReportRun): PageNode {
  const findings = besideVerdict(run);
  if (findings.length === 0) {
    return h("p.quiet", { key: "none" }, t(run.findings.length === 0 ? "findings.none" : "findings.no-others"));
  }
  return h(
    "ul.findings",
    { key: "findings", attrs: { role: "list" } },
    [...findings]
      .sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity))
      .map((finding, index) => {
        const { range, uri } = finding;
        return h(
          `li.severity-${finding.severity}`,
          { key: `${finding.code} ${index}` },
          icon(ICONS[finding.severity]),
          h(
            "div",
            null,
            h("p", null, h("span.unseen", null, `${t(`severity.${finding.severity}`)}: `), rich(finding.message)),
            h(
              "p.finding-places",
              null,
              range === undefined
                ? null
                : h(
                    "button.link",
                    { attrs: { type: "button" }, on: { click: () => send({ type: "reveal", uri, range }) } },
                    t("findings.go", { file: fileName(uri), line: range.start.line + 1 }),
                  ),
              finding.help === ""
                ? h("code.quiet", null, finding.code)
                : h(
                    "a",
                    { attrs: { href: finding.help, "aria-label": t("findings.help", { code: finding.code }) } },
                    finding.code,
                  ),
            ),
          ),
        );
      }),
  );
}

/** Files that could not be read; null when all were. */
export function errorsView({ t }: View, report: Report): PageNode | null {
  if (report.errors.length === 0) return null;
  return h(
    "ul.findings",
    { key: "errors", attrs: { role: "list", "aria-label": t("errors.title") } },
    report.errors.map((error, index) =>
      h(
        "li.severity-error",
        { key: `${error.uri} ${index}` },
        icon("bad"),
        h("p", null, h("code", null, fileName(error.uri)), ` ${error.message}`),
      ),
    ),
  );
}
