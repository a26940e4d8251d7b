/// <reference lib="dom" />
/**
 * The panel as a page of its own, wholly in the browser: paste a config, choose a GPU. It is the host that the panel's page
 * (`webview-ui/`) talks to; the files are what was pasted, and model data comes from the folder beside the page.
 */
import { createAnalyzer } from "../analysis";
import type { DocumentAnalysis } from "../analysis/analyzer";
import { COMMON_SIZES } from "../core/hardware/devices";
import type { ReportEdit, ReportRun } from "../core/report/schema";
import type { HostToPage, PageAction, PageToHost } from "../server/panelProtocol";
import { settleEdits } from "../server/pins";
import { localeOf, text } from "../server/text";
import { edited, FOLDER, filesOf, type Pasted, PINS, reportOf, uriOf } from "./pasted";
import { PAGE, type PageWord } from "./words";

/** Parts of the page around the panel. */
interface Parts {
  readonly name: HTMLInputElement;
  readonly device: HTMLInputElement;
  readonly known: HTMLDataListElement;
  readonly text: HTMLTextAreaElement;
  /** In sight once something is pinned. */
  readonly pins: HTMLTextAreaElement;
}

class WebHost {
  private analysis: DocumentAnalysis | undefined;
  private runId: string | null = null;
  private pending: ReturnType<typeof setTimeout> | undefined;
  private round = 0;
  /** What the analysis shown was made of. */
  private analysed: Pasted | undefined;
  private readonly locale = localeOf(navigator.language);
  private readonly analyzer = createAnalyzer({
    files: filesOf(() => this.pasted()),
    readModelData: async (path) => {
      const response = await fetch(`models/${path}`).catch(() => undefined);
      return response?.ok === true ? response.text() : undefined;
    },
    hubCaches: [],
    workspaceFolders: [FOLDER],
  });

  constructor(private readonly parts: Parts) {
    document.documentElement.lang = this.locale;
    for (const element of document.querySelectorAll<HTMLElement>("[data-word]"))
      element.textContent = PAGE[this.locale][element.dataset["word"] as PageWord];
    for (const { name } of COMMON_SIZES) {
      const option = document.createElement("option");
      option.value = name;
      parts.known.append(option);
    }
    for (const field of [parts.name, parts.device, parts.text, parts.pins])
      field.addEventListener("input", () => this.soon());
  }

  /** A message of the panel's page. */
  receive(message: PageToHost): void {
    switch (message.type) {
      case "ready":
        void this.refresh();
        break;
      case "whatIf":
        void this.answer(async (analysis) => ({
          type: "whatIfResult",
          id: message.id,
          runId: message.runId,
          run: await analysis.whatIf(message.runId, message.set),
        }));
        break;
      case "guide":
        void this.answer(async (analysis) => ({
          ...{ type: "guide", runId: message.runId },
          guide: (await analysis.guide?.(message.runId)) ?? null,
        }));
        break;
      case "compare":
        void this.answer(async (analysis) => ({
          ...{ type: "compare", runId: message.runId },
          lines: analysis.compare?.(message.runId) ?? null,
        }));
        break;
      case "sweep":
        void this.answer(async (analysis) => ({
          ...{ type: "sweep", runId: message.runId },
          sweep: analysis.sweep?.(message.runId) ?? null,
        }));
        break;
      case "applyPlan":
        void this.apply("applyPlan", () => {
          const plans = this.runs().find(({ id }) => id === message.runId)?.plans;
          return plans?.find(({ title }) => title === message.title)?.edits;
        });
        break;
      case "applyWhatIf":
        void this.apply("applyWhatIf", () => {
          const result = this.analysis?.whatIfEdits(message.runId, message.set) ?? null;
          return result !== null && "edits" in result ? result.edits : undefined;
        });
        break;
      case "settle":
        void this.settle(message.key, message.value);
        break;
      case "pickDevice":
        if (message.device === undefined) this.parts.device.focus();
        else this.parts.device.value = message.device;
        void this.refresh();
        break;
      case "reveal":
        this.reveal(message.range.start.line);
        break;
      case "selectRun":
        this.runId = message.runId;
        break;
      case "export":
        this.save(message.format, message.text);
        break;
      default:
        break;
    }
  }

  private post(message: HostToPage): void {
    globalThis.postMessage(message, globalThis.location.origin === "null" ? "*" : globalThis.location.origin);
  }

  private runs(): readonly ReportRun[] {
    return this.analysis?.runs ?? [];
  }

  private pasted(): Pasted {
    const { name, text, pins } = this.parts;
    return { name: name.value, text: text.value, pins: pins.value };
  }

  private soon(): void {
    clearTimeout(this.pending);
    this.pending = setTimeout(() => void this.refresh(), 300);
  }

  /** Analyses what is in the fields and shows it, unless something newer is there by then. */
  private async refresh(): Promise<void> {
    clearTimeout(this.pending);
    const round = ++this.round;
    const { parts, locale } = this;
    const pasted = this.pasted();
    if (pasted.text.trim() === "") return this.post({ type: "empty", reason: "no-document", message: "", locale });
    this.post({ type: "busy" });
    const uri = uriOf(pasted);
    for (const file of [uri, PINS]) this.analyzer.invalidate(file);
    const device = parts.device.value.trim();
    const analysis = await this.analyzer.analyse(uri, { defaultDevice: device, plans: true, locale });
    if (round !== this.round) return;
    this.analysis = analysis;
    this.analysed = pasted;
    const run = analysis.runs.find(({ id }) => id === this.runId) ?? analysis.runs[0];
    if (run === undefined) {
      const message = analysis.report.errors[0]?.message ?? "";
      return this.post({ type: "empty", reason: "not-recognised", message, locale });
    }
    this.post(reportOf(analysis.report, run.id, pasted, locale));
  }

  /** Whether what is shown is of what the fields hold. */
  private isCurrent(): boolean {
    const { analysed } = this;
    const now = this.pasted();
    return analysed?.name === now.name && analysed.text === now.text && analysed.pins === now.pins;
  }

  private async answer(make: (analysis: DocumentAnalysis) => Promise<HostToPage>): Promise<void> {
    const { analysis } = this;
    if (analysis === undefined) return;
    const message = await make(analysis);
    if (analysis === this.analysis) this.post(message);
  }

  /** Writes edits into the fields. They are asked for of an analysis of what the fields hold now: places are its. */
  private async apply(action: PageAction, editsOf: () => readonly ReportEdit[] | undefined): Promise<void> {
    if (!this.isCurrent()) await this.refresh();
    const edits = this.isCurrent() ? editsOf() : undefined;
    if (edits === undefined) return this.refused(action, text(this.locale, "planGone"));
    const after = edited(this.pasted(), edits);
    if (after === undefined) return this.refused(action, text(this.locale, "planEmpty"));
    await this.write(after, action);
  }

  private async settle(key: string, value: string): Promise<void> {
    const pasted = this.pasted();
    const result = await settleEdits(
      { uri: uriOf(pasted), key, value },
      {
        files: filesOf(() => pasted),
        workspaceFolders: [FOLDER],
        locale: this.locale,
      },
    );
    if (!result.ok) return this.refused("settle", result.message);
    const after = edited(pasted, result.edits);
    if (after !== undefined) await this.write(after, "settle");
  }

  private refused(action: PageAction, message: string): void {
    this.post({ type: "outcome", action, ok: false, message });
  }

  private async write(after: Pasted, action: PageAction): Promise<void> {
    const { text: config, pins } = this.parts;
    config.value = after.text;
    pins.value = after.pins;
    pins.labels[0]?.toggleAttribute("hidden", after.pins === "");
    this.post({ type: "outcome", action, ok: true, message: text(this.locale, "written") });
    await this.refresh();
  }

  private reveal(line: number): void {
    const { text } = this.parts;
    const lines = text.value.split("\n");
    const start = lines.slice(0, line).join("\n").length + (line > 0 ? 1 : 0);
    text.focus();
    text.setSelectionRange(start, start + (lines[line] ?? "").length);
  }

  private save(format: string, text: string): void {
    if (format === "copy") {
      void navigator.clipboard.writeText(text);
      return;
    }
    const bytes = format === "png" ? Uint8Array.from(atob(text), (char) => char.charCodeAt(0)) : text;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = `report.${format === "markdown" ? "md" : format}`;
    link.click();
    URL.revokeObjectURL(link.href);
  }
}

function part<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found as T;
}

const host = new WebHost({
  name: part("name"),
  device: part("device"),
  known: part("devices"),
  text: part("config"),
  pins: part("pins"),
});
let saved: unknown;
Object.assign(globalThis, {
  acquireVsCodeApi: () => ({
    postMessage: (message: PageToHost) => host.receive(message),
    getState: () => saved,
    setState: (state: unknown) => {
      saved = state;
    },
  }),
});
