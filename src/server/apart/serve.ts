/** The analysis thread: makes analyses, answers questions about them, and reads through the server. */
import type { Analyzer, CreateAnalyzer, DocumentAnalysis } from "../../analysis/analyzer";
import type { AnalysisOptions } from "../../analysis/options";
import type { Runtime } from "../../analysis/runtime";
import { type Errands, errandsOf } from "./errands";
import type { FromThread, Port, ReadKind, SentAnalysis, Surroundings, ToThread } from "./messages";

/** Messages that are answered. */
type Asked = "recognise" | "errand" | "analyse" | "ask";

/** Analyses kept to be asked about; the server forgets its own sooner. */
const MOST_KEPT = 128;

export function serveAnalyses(port: Port, createAnalyzer: CreateAnalyzer): void {
  const thread = new AnalysisThread((message) => port.post(message), createAnalyzer);
  port.listen((message) => thread.receive(message as ToThread));
  port.post({ kind: "ready" } satisfies FromThread);
}

class AnalysisThread {
  private readonly analyzer: Analyzer;
  private readonly errands: Errands;
  private around: Surroundings = { hubCaches: [], workspaceFolders: [], trusted: true };
  private readonly analyses = new Map<number, DocumentAnalysis>();
  private readonly reads = new Map<number, (value: unknown) => void>();
  private lastRead = 0;

  constructor(
    private readonly send: (message: FromThread) => void,
    createAnalyzer: CreateAnalyzer,
  ) {
    const runtime = this.runtime();
    this.analyzer = createAnalyzer(runtime);
    this.errands = errandsOf(this.analyzer, runtime);
  }

  receive(message: ToThread): void {
    if (message.kind === "read") {
      this.reads.get(message.id)?.(message.value);
      this.reads.delete(message.id);
    } else if (message.kind === "invalidate") for (const uri of message.uris) this.analyzer.invalidate(uri);
    else if (message.kind === "forget") this.analyses.delete(message.analysis);
    else if (message.kind === "ping") this.send({ kind: "pong" });
    else this.answer(message);
  }

  private answer(message: Extract<ToThread, { readonly id: number; readonly kind: Asked }>) {
    const { id } = message;
    const answered = async (): Promise<unknown> => {
      if (message.kind === "recognise") return this.analyzer.recognise(message.uri, message.text);
      if (message.kind === "analyse") return this.analysed(message);
      if (message.kind === "errand")
        return (this.errands[message.errand] as (...given: readonly unknown[]) => unknown)(...message.given);
      const { question, given } = message;
      const analysis = this.analyses.get(message.analysis);
      if (analysis === undefined) throw new Error("the analysis is gone");
      const method = analysis[question] as ((...given: readonly unknown[]) => unknown) | undefined;
      return method?.apply(analysis, [...given]);
    };
    answered().then(
      (value) => this.send({ kind: "done", id, value }),
      (error: unknown) =>
        this.send({
          kind: "failed",
          id,
          message: error instanceof Error ? (error.stack ?? error.message) : String(error),
        }),
    );
  }

  private async analysed(message: Extract<ToThread, { readonly kind: "analyse" }>): Promise<SentAnalysis> {
    const { id, uri, options, around, stop } = message;
    this.around = around;
    const stoppable: AnalysisOptions =
      stop === null ? options : { ...options, stopped: () => Atomics.load(stop, 0) !== 0 };
    const analysis = await this.analyzer.analyse(uri, stoppable);
    this.analyses.set(id, analysis);
    const oldest = this.analyses.size > MOST_KEPT ? this.analyses.keys().next().value : undefined;
    if (oldest !== undefined) this.analyses.delete(oldest);
    const { recognition, report, dependencies } = analysis;
    return { uri: analysis.uri, recognition, report, dependencies };
  }

  private runtime(): Runtime {
    const around = (): Surroundings => this.around;
    const read = <T>(what: ReadKind, path: string): Promise<T> => {
      const id = ++this.lastRead;
      return new Promise((resolve) => {
        this.reads.set(id, resolve as (value: unknown) => void);
        this.send({ kind: "read", id, what, path });
      });
    };
    return {
      files: {
        readText: (uri) => read("readText", uri),
        stat: (uri) => read("stat", uri),
        list: (uri) => read("list", uri),
        resolve: (uri) => read("resolve", uri),
      },
      readModelData: (path) => read("modelData", path),
      readModelArchive: () => read("modelArchive", ""),
      get hubCaches() {
        return around().hubCaches;
      },
      get workspaceFolders() {
        return around().workspaceFolders;
      },
      get trusted() {
        return around().trusted;
      },
    };
  }
}
