/** Where memory ran out, one article for each place of the log. */
import type { EvidenceToHost } from "../../src/server/evidenceProtocol";
import type { Explanation } from "../../src/server/protocol";
import { h, type PageNode } from "../dom/node";
import { rich } from "../view/rich";
import type { Words } from "./messages";

export interface ExplanationsView {
  readonly label: string;
  readonly explanations: readonly Explanation[];
  readonly t: Words;
  readonly send: (message: EvidenceToHost) => void;
}

function part(title: string, id: string, ...content: readonly (PageNode | null)[]): PageNode | null {
  const shown = content.filter((node) => node !== null);
  if (shown.length === 0) return null;
  return h("section.part", { attrs: { "aria-labelledby": id } }, h("h3", { attrs: { id } }, title), shown);
}

function sentences(lines: readonly string[]): PageNode | null {
  return lines.length === 0 ? null : h("div", null, ...lines.map((line) => h("p", null, rich(line))));
}

function shortName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/** Files of an interpreter's own, which no editor opens. */
function isOpenable(file: string): boolean {
  return !file.startsWith("<");
}

function placeView({ frame }: Explanation, { t, send }: ExplanationsView): PageNode | null {
  if (frame === null) return null;
  const text = t("oom.at", { file: shortName(frame.file), line: frame.line });
  const { file, line } = frame;
  const place = isOpenable(file)
    ? h(
        "button.link",
        { attrs: { type: "button", title: file }, on: { click: () => send({ type: "source", file, line }) } },
        text,
      )
    : h("span", null, text);
  return h("p.place", null, place, frame.code === "" ? null : h("code", null, frame.code));
}

function adviceView(explanation: Explanation, index: number, { t, send }: ExplanationsView): PageNode | null {
  if (explanation.advice.length === 0) return null;
  return h(
    "ul.advice",
    null,
    ...explanation.advice.map((one, advice) => {
      const act = (type: "apply" | "preview") => () => send({ type, explanation: index, advice });
      const named = (verb: string) => ({ type: "button", "aria-label": `${verb}: ${one.title}` });
      return h(
        "li",
        null,
        h("span", null, rich(one.title)),
        one.edits.length === 0
          ? null
          : h(
              "span.buttons",
              null,
              h(
                `button.${advice === 0 ? "primary" : "secondary"}`,
                { attrs: named(t("apply")), on: { click: act("apply") } },
                t("apply"),
              ),
              h("button.secondary", { attrs: named(t("preview")), on: { click: act("preview") } }, t("preview")),
            ),
      );
    }),
  );
}

function configView({ run }: Explanation, { t, send }: ExplanationsView): PageNode | null {
  if (run === null) return null;
  const text = t("oom.config", { file: decodeURIComponent(shortName(run.uri)) });
  return h(
    "p",
    null,
    h("button.link", { attrs: { type: "button" }, on: { click: () => send({ type: "open", uri: run.uri }) } }, text),
  );
}

function explanationView(explanation: Explanation, index: number, view: ExplanationsView): PageNode {
  const { t } = view;
  const id = `failure-${index}`;
  const { title, where, room, why, tensorSaid, estimate, message } = explanation;
  return h(
    "article.failure",
    { key: id, attrs: { "aria-labelledby": id } },
    h("h2", { attrs: { id } }, title),
    where === "" ? null : h("p.quiet", null, where),
    placeView(explanation, view),
    part(t("oom.why"), `${id}-why`, sentences(why)),
    part(t("oom.card"), `${id}-card`, room === "" ? null : sentences([room])),
    part(t("oom.tensor"), `${id}-tensor`, sentences(tensorSaid)),
    part(
      t("oom.estimate"),
      `${id}-estimate`,
      estimate === null ? null : sentences([estimate]),
      configView(explanation, view),
    ),
    part(t("oom.avoid"), `${id}-avoid`, adviceView(explanation, index, view)),
    h("details", null, h("summary", null, t("oom.message")), h("pre", { attrs: { tabindex: 0 } }, message)),
  );
}

export function explanationsView(view: ExplanationsView): readonly PageNode[] {
  const { label, explanations, t } = view;
  return [
    h("h1", { key: "heading" }, t("oom.heading"), label === "" ? null : h("span.quiet", null, ` ${label}`)),
    ...(explanations.length === 0
      ? [h("p", { key: "none" }, t("oom.none"))]
      : explanations.map((explanation, index) => explanationView(explanation, index, view))),
  ];
}
