/// <reference lib="dom" />
/**
 * The panel as a page of its own, wholly in the browser: paste a config, choose a GPU. It is the host that the panel's page
 * (`webview-ui/`) talks to; the files are what was pasted, and model data comes from the folder beside the page.
 */
import { createAnalyzer } from "../analysis";
import type { DocumentAnalysis } from "../analysis/analyzer";
import type { Runtime } from "../analysis/runtime";
import { COMMON_SIZES } from "../core/hardware/devices";
import type { ReportEdit, ReportRun } from "../core/report/schema";
import type { HostToPage, PageToHost } from "../server/protocol";

const FOLDER = "file:///config";

/** Parts of the page around the panel. */
interface Parts {
  readonly name: HTMLInputElement;
  readonly device: HTMLInputElement;
  readonly known: HTMLDataListElement;
  readonly text: HTMLTextAreaElement;
}

class WebHost {
  private analysis: DocumentAnalysis | undefined;
  private runId: string | null = null;
  private pending: ReturnType<typeof setTimeout> | undefined;
  private round = 0;
  private readonly analyzer = createAnalyzer(this.runtime());

  constructor(private readonly parts: Parts) {
    for (const { name } of COMMON_SIZES) {
      const option = document.createElement("option");
      option.value = name;
      parts.known.append(option);
    }
    for (const field of [parts.name, parts.device, parts.text]) field.addEventListener("input", () => this.soon());
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
      case "previewPlan":
        this.apply("applyPlan", this.runs().find(({ id }) => id === message.runId)?.plans[message.planIndex]?.edits);
        break;
      case "applyWhatIf":
      case "previewWhatIf": {
        const result = this.analysis?.whatIfEdits(message.runId, message.set) ?? null;
        this.apply("applyWhatIf", result !== null && "edits" in result ? result.edits : undefined);
        break;
      }
      case "settle":
        this.parts.text.value = `# vramlens: ${message.key}=${message.value}\n${this.parts.text.value}`;
        void this.refresh();
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

  private get uri(): string {
    return `${FOLDER}/${encodeURIComponent(this.parts.name.value.trim() || "train.yaml")}`;
  }

  private soon(): void {
    clearTimeout(this.pending);
    this.pending = setTimeout(() => void this.refresh(), 300);
  }

  /** Analyses what is in the field and shows it, unless something newer is there by then. */
  private async refresh(): Promise<void> {
    const round = ++this.round;
    const { uri, parts } = this;
    const locale = document.documentElement.lang;
    if (parts.text.value.trim() === "") return this.post({ type: "empty", reason: "no-document", message: "", locale });
    this.post({ type: "busy" });
    this.analyzer.invalidate(uri);
    const device = parts.device.value.trim();
    const analysis = await this.analyzer.analyse(uri, { defaultDevice: device, plans: true, locale });
    if (round !== this.round) return;
    this.analysis = analysis;
    const run = analysis.runs.find(({ id }) => id === this.runId) ?? analysis.runs[0];
    if (run === undefined) {
      const message = analysis.report.errors[0]?.message ?? "";
      return this.post({ type: "empty", reason: "not-recognised", message, locale });
    }
    this.post({
      ...{ type: "report", uri, label: parts.name.value, report: analysis.report, runId: run.id, locale },
      ...{ reserve: 0.1, follow: false, because: "", localCards: false },
    });
  }

  private async answer(make: (analysis: DocumentAnalysis) => Promise<HostToPage>): Promise<void> {
    const { analysis } = this;
    if (analysis === undefined) return;
    const message = await make(analysis);
    if (analysis === this.analysis) this.post(message);
  }

  private apply(action: "applyPlan" | "applyWhatIf", edits: readonly ReportEdit[] | undefined): void {
    const own = edits?.filter(({ uri }) => uri === this.uri) ?? [];
    const ok = own.length > 0;
    if (ok) this.parts.text.value = edited(this.parts.text.value, own);
    this.post({ type: "outcome", action, ok, message: ok ? "Applied" : "Nothing was applied." });
    if (ok) void this.refresh();
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

  /** Only what was pasted can be read, and the model data that the page is served with. */
  private runtime(): Runtime {
    const own = (uri: string) => (uri === this.uri ? this.parts.text.value : undefined);
    return {
      files: {
        readText: async (uri) => own(uri),
        stat: async (uri) => {
          const text = own(uri);
          if (text !== undefined) return { type: "file", size: text.length, mtime: this.round };
          return uri === FOLDER ? { type: "directory", size: 0, mtime: 0 } : undefined;
        },
        list: async (uri) => (uri === FOLDER ? [{ name: this.parts.name.value, type: "file" as const }] : []),
      },
      readModelData: async (path) => {
        const response = await fetch(`models/${path}`).catch(() => undefined);
        return response?.ok === true ? response.text() : undefined;
      },
      hubCaches: [],
      workspaceFolders: [FOLDER],
    };
  }
}

/** A text with edits made, last place first. */
function edited(text: string, edits: readonly ReportEdit[]): string {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const offset = ({ line, character }: ReportEdit["range"]["start"]) => (starts[line] ?? text.length) + character;
  return [...edits]
    .sort((a, b) => offset(b.range.start) - offset(a.range.start))
    .reduce(
      (all, { range, newText }) => all.slice(0, offset(range.start)) + newText + all.slice(offset(range.end)),
      text,
    );
}

function part<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found as T;
}

const host = new WebHost({ name: part("name"), device: part("device"), known: part("devices"), text: part("config") });
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
