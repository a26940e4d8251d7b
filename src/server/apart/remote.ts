/**
 * An analyzer on a thread of its own: the server goes on answering whatever an estimate takes.
 *
 * What nobody wants any more ends between two estimates; a thread that does not come to that, or that dies, is started anew,
 * and what was asked of it is asked again, once. Where no thread can be had, everything runs here, and the log says so.
 */
import type { DocumentAnalysis, Recognition, ServedAnalysis } from "../../analysis/analyzer";
import { Stopped } from "../../analysis/estimate/stopped";
import type { AnalysisOptions } from "../../analysis/options";
import type { Runtime } from "../../analysis/runtime";
import type { AnalysisProgram, CreateProgram, Errands } from "./errands";
import type { FromThread, Port, Question, SentAnalysis, Surroundings, ToThread } from "./messages";

/** A thread that was started. */
export interface Thread extends Port {
  /** Ends it, whatever it does. */
  end(): void;
  /** Called once when it is over without having been ended. */
  onGone(handler: (why: string) => void): void;
}

export interface ThreadSource {
  /** Starts the thread; throws, or is gone at once, where there are none. */
  start(): Thread;
  /** The program of this thread, for where there is no other. */
  here(): Promise<CreateProgram>;
  log(message: string): void;
  /** Milliseconds that a thread may be deaf to a ping before it is ended (it is busy with one estimate). */
  readonly patience?: number;
  /** Milliseconds that it may go on with what nobody wants. */
  readonly grace?: number;
}

const PATIENCE = 15_000;
const GRACE = 1000;
/** A thread that has just been started may take longer, on a machine that is busy. */
const STARTING = 30_000;
/** Times that one request may take its thread down. */
const MOST_TRIES = 2;
/** Threads in a row that did not come to anything before no more are started. */
const MOST_STILLBORN = 2;

type Request = Extract<ToThread, { readonly kind: "recognise" | "errand" | "analyse" | "ask" }>;

interface Pending {
  readonly request: Request;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  tries: number;
}

export class RemoteAnalyzer implements AnalysisProgram {
  private thread: Thread | undefined;
  private isReady = false;
  private stillborn = 0;
  private local: Promise<AnalysisProgram> | undefined;
  private readonly pending = new Map<number, Pending>();
  /** Documents that changed since the last message. */
  private readonly stale = new Set<string>();
  private lastId = 0;
  private lastHeard = 0;
  private watch: ReturnType<typeof setInterval> | undefined;
  private isDisposed = false;

  constructor(
    private readonly source: ThreadSource,
    private readonly runtime: Runtime,
  ) {}

  async recognise(uri: string, text: string): Promise<Recognition | null> {
    if (this.local !== undefined) return (await this.local).recognise(uri, text);
    const id = ++this.lastId;
    const found = await this.asked({ kind: "recognise", id, uri, text });
    return found instanceof Here ? (await found.analyzer).recognise(uri, text) : (found as Recognition | null);
  }

  async analyse(uri: string, options: AnalysisOptions, signal?: AbortSignal): Promise<ServedAnalysis> {
    if (signal?.aborted) throw new Stopped();
    if (this.local !== undefined) return (await this.local).analyse(uri, options, signal);
    const id = ++this.lastId;
    const { stopped: _, ...plain } = options;
    const stop = sharedNumber();
    const stops = (): void => this.stop(id, stop);
    signal?.addEventListener("abort", stops);
    const found = await this.asked({ kind: "analyse", id, uri, options: plain, around: this.around(), stop }).finally(
      () => signal?.removeEventListener("abort", stops),
    );
    if (found instanceof Here) return (await found.analyzer).analyse(uri, options, signal);
    return new RemoteAnalysis(this, id, found as SentAnalysis, options);
  }

  settle(...given: Parameters<Errands["settle"]>) {
    return this.done("settle", given) as ReturnType<Errands["settle"]>;
  }

  models() {
    return this.done("models", []) as ReturnType<Errands["models"]>;
  }

  keptTrace(...given: Parameters<Errands["keptTrace"]>) {
    return this.done("keptTrace", given) as ReturnType<Errands["keptTrace"]>;
  }

  keepTrace(...given: Parameters<Errands["keepTrace"]>) {
    return this.done("keepTrace", given) as ReturnType<Errands["keepTrace"]>;
  }

  changesSaid(...given: Parameters<Errands["changesSaid"]>) {
    return this.done("changesSaid", given) as ReturnType<Errands["changesSaid"]>;
  }

  explainLog(...given: Parameters<Errands["explainLog"]>) {
    return this.done("explainLog", given) as ReturnType<Errands["explainLog"]>;
  }

  private async done(errand: keyof Errands, given: readonly unknown[]): Promise<unknown> {
    const here = async (program: Promise<AnalysisProgram>): Promise<unknown> =>
      ((await program)[errand] as (...given: readonly unknown[]) => unknown)(...given);
    if (this.local !== undefined) return here(this.local);
    const found = await this.asked({ kind: "errand", id: ++this.lastId, errand, given });
    return found instanceof Here ? here(found.analyzer) : found;
  }

  invalidate(uri: string): void {
    if (this.thread !== undefined) this.stale.add(uri);
    void this.local?.then((analyzer) => analyzer.invalidate(uri));
  }

  /** Asks an analysis that a thread made; one that is gone with its thread is made again. */
  async ask(analysis: RemoteAnalysis, question: Question, given: readonly unknown[]): Promise<unknown> {
    if (this.local === undefined && analysis.made === this.thread) {
      const id = ++this.lastId;
      const found = await this.asked({ kind: "ask", id, analysis: analysis.id, question, given }).catch(
        (error) => error,
      );
      if (!(found instanceof Error || found instanceof Here)) return found;
    }
    const again = await this.analyse(analysis.uri, analysis.options);
    if (again instanceof RemoteAnalysis) {
      if (this.local !== undefined) return undefined;
      return this.asked({ kind: "ask", id: ++this.lastId, analysis: again.id, question, given });
    }
    const method = again[question] as ((...given: readonly unknown[]) => unknown) | undefined;
    return method?.apply(again, [...given]);
  }

  /** The thread that serves now. */
  get serving(): Thread | undefined {
    return this.thread;
  }

  dispose(): void {
    this.isDisposed = true;
    this.thread?.end();
    this.thread = undefined;
    this.unguard();
    for (const { reject } of this.pending.values()) reject(new Stopped());
    this.pending.clear();
  }

  private around(): Surroundings {
    const { hubCaches, workspaceFolders, trusted } = this.runtime;
    return { hubCaches: [...hubCaches], workspaceFolders: [...workspaceFolders], trusted: trusted !== false };
  }

  private asked(request: Request): Promise<unknown> {
    if (this.isDisposed) return Promise.reject(new Stopped());
    return new Promise((resolve, reject) => {
      this.pending.set(request.id, { request, resolve, reject, tries: 0 });
      if (this.started()) this.post(request);
    });
  }

  /** Sends a message, after what the thread has to forget: thousands of files that change at once are one message. */
  private post(message: ToThread): void {
    if (this.stale.size > 0) {
      this.thread?.post({ kind: "invalidate", uris: [...this.stale] });
      this.stale.clear();
    }
    this.thread?.post(message);
  }

  /** Whether there is a thread to send to; starts one if there is none. */
  private started(): boolean {
    if (this.thread !== undefined) {
      this.guard();
      return true;
    }
    try {
      const thread = this.source.start();
      this.thread = thread;
      this.isReady = false;
      thread.listen((message) => this.thread === thread && this.receive(message as FromThread));
      thread.onGone((why) => this.thread === thread && this.gone(why));
      this.guard();
      return true;
    } catch (error) {
      this.stayHere(String(error));
      return false;
    }
  }

  private receive(message: FromThread): void {
    this.lastHeard = Date.now();
    if (message.kind === "ready") {
      this.isReady = true;
      this.stillborn = 0;
    } else if (message.kind === "read") void this.read(message);
    else if (message.kind === "done" || message.kind === "failed") {
      const found = this.pending.get(message.id);
      this.pending.delete(message.id);
      if (this.pending.size === 0) this.unguard();
      if (message.kind === "done") found?.resolve(message.value);
      else found?.reject(new Error(message.message));
    }
  }

  private async read({ id, what, path }: Extract<FromThread, { readonly kind: "read" }>): Promise<void> {
    const { thread, runtime } = this;
    const { files } = runtime;
    const value =
      what === "modelData"
        ? runtime.readModelData(path)
        : what === "modelArchive"
          ? runtime.readModelArchive?.()
          : what === "resolve"
            ? (files.resolve?.(path) ?? path)
            : files[what](path);
    const found = await Promise.resolve(value).catch(() => undefined);
    if (this.thread === thread) this.post({ kind: "read", id, value: found });
  }

  /** Nobody wants an answer any more. */
  private stop(id: number, stop: Int32Array | null): void {
    const found = this.pending.get(id);
    if (found === undefined) return;
    this.pending.delete(id);
    if (this.pending.size === 0) this.unguard();
    if (stop !== null) Atomics.store(stop, 0, 1);
    found.reject(new Stopped());
    // A thread that still does not listen is in the middle of one long estimate.
    const { thread } = this;
    const asked = Date.now();
    this.post({ kind: "ping" });
    const timer = setTimeout(() => {
      if (this.thread === thread && this.isReady && this.lastHeard < asked)
        this.gone("it went on with what nobody wanted any more", false);
    }, this.source.grace ?? GRACE);
    timer.unref?.();
  }

  private unguard(): void {
    clearInterval(this.watch);
    this.watch = undefined;
  }

  /** Looks after the thread while there is something to wait for. */
  private guard(): void {
    if (this.watch !== undefined) return;
    const patience = this.source.patience ?? PATIENCE;
    let since = Date.now();
    this.post({ kind: "ping" });
    this.watch = setInterval(() => {
      if (this.lastHeard >= since) {
        since = Date.now();
        this.post({ kind: "ping" });
      } else if (Date.now() - since > (this.isReady ? patience : Math.max(patience, STARTING)))
        this.gone(`it did not answer for ${Math.round(patience / 1000)} s`);
    }, patience / 4);
    this.watch.unref?.();
  }

  /** The thread is over, or is ended: another takes its place, and what was asked is asked again. */
  private gone(why: string, counts = true): void {
    this.thread?.end();
    this.thread = undefined;
    this.unguard();
    if (!this.isReady && ++this.stillborn >= MOST_STILLBORN) {
      this.stayHere(why);
      return;
    }
    this.source.log(`the analysis thread is started again: ${why}`);
    for (const [id, one] of this.pending) {
      if (counts) one.tries++;
      // A question to an analysis that is gone is asked of one made anew by whoever asked.
      if (one.tries >= MOST_TRIES || one.request.kind === "ask") {
        this.pending.delete(id);
        one.reject(new Error(`no answer from the analysis thread: ${why}`));
      }
    }
    if (this.pending.size > 0 && this.started()) for (const { request } of this.pending.values()) this.post(request);
  }

  /** No threads here: all that is asked for is done where it is asked. */
  private stayHere(why: string): void {
    this.source.log(`no analysis thread (${why}): estimates are made in the server's own`);
    const analyzer = this.source.here().then((create): AnalysisProgram => create(this.runtime));
    this.local = analyzer;
    const here = new Here(analyzer);
    for (const { resolve } of this.pending.values()) resolve(here);
    this.pending.clear();
  }
}

/** Says that a question goes to the analyzer of this thread. */
class Here {
  constructor(readonly analyzer: Promise<AnalysisProgram>) {}
}

/** A number that two threads see; null where they share no memory (a browser without cross-origin isolation). */
function sharedNumber(): Int32Array | null {
  return typeof SharedArrayBuffer === "undefined" ? null : new Int32Array(new SharedArrayBuffer(4));
}

class RemoteAnalysis implements ServedAnalysis {
  readonly uri: string;
  readonly recognition: Recognition | null;
  readonly report: DocumentAnalysis["report"];
  readonly dependencies: readonly string[];
  readonly runs: DocumentAnalysis["runs"];
  /** The thread that has it. */
  readonly made: Thread | undefined;

  constructor(
    private readonly analyzer: RemoteAnalyzer,
    readonly id: number,
    sent: SentAnalysis,
    readonly options: AnalysisOptions,
  ) {
    this.uri = sent.uri;
    this.recognition = sent.recognition;
    this.report = sent.report;
    this.dependencies = sent.dependencies;
    this.runs = sent.report.runs;
    this.made = analyzer.serving;
  }

  async hover(...given: Parameters<DocumentAnalysis["hover"]>) {
    return ((await this.ask("hover", given)) ?? null) as ReturnType<DocumentAnalysis["hover"]>;
  }

  async complete(...given: Parameters<NonNullable<DocumentAnalysis["complete"]>>) {
    return ((await this.ask("complete", given)) ?? []) as ReturnType<NonNullable<DocumentAnalysis["complete"]>>;
  }

  async fixes(...given: Parameters<DocumentAnalysis["fixes"]>) {
    return ((await this.ask("fixes", given)) ?? []) as ReturnType<DocumentAnalysis["fixes"]>;
  }

  async links() {
    return ((await this.ask("links", [])) ?? []) as ReturnType<DocumentAnalysis["links"]>;
  }

  async whatIf(...given: Parameters<DocumentAnalysis["whatIf"]>) {
    return ((await this.ask("whatIf", given)) ?? null) as Awaited<ReturnType<DocumentAnalysis["whatIf"]>>;
  }

  async guide(...given: Parameters<NonNullable<DocumentAnalysis["guide"]>>) {
    return ((await this.ask("guide", given)) ?? null) as Awaited<ReturnType<NonNullable<DocumentAnalysis["guide"]>>>;
  }

  async compare(...given: Parameters<NonNullable<DocumentAnalysis["compare"]>>) {
    return ((await this.ask("compare", given)) ?? null) as ReturnType<NonNullable<DocumentAnalysis["compare"]>>;
  }

  async sweep(...given: Parameters<NonNullable<DocumentAnalysis["sweep"]>>) {
    return ((await this.ask("sweep", given)) ?? null) as ReturnType<NonNullable<DocumentAnalysis["sweep"]>>;
  }

  async edited(...given: Parameters<NonNullable<DocumentAnalysis["edited"]>>) {
    return ((await this.ask("edited", given)) ?? null) as Awaited<ReturnType<NonNullable<DocumentAnalysis["edited"]>>>;
  }

  async explain(...given: Parameters<NonNullable<DocumentAnalysis["explain"]>>) {
    return ((await this.ask("explain", given)) ?? null) as ReturnType<NonNullable<DocumentAnalysis["explain"]>>;
  }

  async whatIfEdits(...given: Parameters<DocumentAnalysis["whatIfEdits"]>) {
    return ((await this.ask("whatIfEdits", given)) ?? null) as ReturnType<DocumentAnalysis["whatIfEdits"]>;
  }

  private ask(question: Question, given: readonly unknown[]): Promise<unknown> {
    return this.analyzer.ask(this, question, given);
  }
}
