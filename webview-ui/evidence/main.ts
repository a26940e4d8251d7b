/** Entry of the page that shows what really happened: explained failures and memory snapshots. */
import type { EvidenceToHost, HostToEvidence } from "../../src/server/evidenceProtocol";
import { h, type PageNode } from "../dom/node";
import { patchChildren } from "../dom/patch";
import { explanationsView } from "./explanations";
import { wordsOf } from "./messages";
import { Recorder } from "./recorder";

declare function acquireVsCodeApi(): { postMessage(message: EvidenceToHost): void };

const host = acquireVsCodeApi();
const root = document.getElementById("app") ?? document.body.appendChild(document.createElement("main"));
const send = (message: EvidenceToHost): void => host.postMessage(message);

let shown: HostToEvidence = { type: "nothing", label: "", message: "", locale: document.documentElement.lang };
let outcome = "";
let recorder: Recorder | undefined;

function content(): readonly (PageNode | string | null)[] {
  switch (shown.type) {
    case "snapshot":
      return recorder?.view() ?? [];
    case "explanations":
      return explanationsView({ ...shown, t: wordsOf(shown.locale), send });
    case "nothing":
      return [h("h1", { key: "heading" }, shown.label), h("p", { key: "message" }, shown.message)];
    default:
      return [];
  }
}

function render(): void {
  patchChildren(root, [
    h("main", { key: "main" }, ...content()),
    h("p.outcome", { key: "outcome", attrs: { role: "status", "aria-live": "polite" } }, outcome),
  ]);
  recorder?.rendered(root);
}

window.addEventListener("message", ({ data }: MessageEvent<HostToEvidence>) => {
  if (data.type === "outcome") outcome = data.message;
  else {
    shown = data;
    outcome = "";
    recorder?.dispose();
    recorder = data.type === "snapshot" ? new Recorder(data, send, render) : undefined;
  }
  render();
});

render();
send({ type: "ready" });
