/** A recording on the page: starts the drawing thread, hands it the canvas, and turns what a person does into requests. */
import type { EvidenceToHost, HostToEvidence } from "../../src/server/evidenceProtocol";
import type { PageNode } from "../dom/node";
import type { Range } from "./drawing";
import { wordsOf } from "./messages";
import { coloursOf } from "./parts";
import { type RecordingActions, type RecordingState, recordingView } from "./recording";
import type { FromDrawing, ToDrawing } from "./thread";

type Opened = Extract<HostToEvidence, { type: "snapshot" }>;

/** How much of the range an arrow key goes, and a step of the zoom keeps. */
const STEP = 0.02;
const KEPT = 0.5;
/** Entries that are the least to be shown. */
const LEAST = 20;

export class Recorder {
  private state: RecordingState;
  private worker: Worker | undefined;
  private canvas: Element | null = null;
  private range: Range | null = null;
  private cursor: number | null = null;
  private refusal: string | null = null;
  private asked = 0;
  private frame = 0;
  private readonly t;
  private readonly observer = new ResizeObserver(() => this.draw());

  constructor(
    private readonly opened: Opened,
    private readonly send: (message: EvidenceToHost) => void,
    private readonly changed: () => void,
  ) {
    this.t = wordsOf(opened.locale);
    const { label, estimate } = opened;
    this.state = { label, estimate, devices: [], device: 0, view: "timeline", search: "", drawn: null, moment: null };
    this.start().catch((error) => {
      this.refusal = String(error);
      this.changed();
    });
  }

  view(): readonly (PageNode | string | null)[] {
    return this.refusal === null
      ? recordingView(this.state, this.t, this.actions)
      : [this.state.label, ": ", this.refusal];
  }

  /** After the page was brought in line: a new canvas goes to the thread. */
  rendered(root: Element): void {
    const canvas = root.querySelector("canvas");
    if (canvas === null || canvas === this.canvas) return;
    this.canvas = canvas;
    this.observer.disconnect();
    this.observer.observe(canvas);
    const handed = canvas.transferControlToOffscreen();
    this.post({ type: "canvas", canvas: handed }, [handed]);
    this.draw();
  }

  dispose(): void {
    this.observer.disconnect();
    this.worker?.terminate();
  }

  /** The thread's program is read by the page: a worker of another origin cannot be started by its address. */
  private async start(): Promise<void> {
    const [program, file] = await Promise.all([fetch(this.opened.worker), fetch(this.opened.file)]);
    const url = URL.createObjectURL(new Blob([await program.text()], { type: "text/javascript" }));
    this.worker = new Worker(url);
    URL.revokeObjectURL(url);
    this.worker.onmessage = ({ data }: MessageEvent<FromDrawing>) => this.receive(data);
    const bytes = await file.arrayBuffer();
    this.post({ type: "open", bytes }, [bytes]);
  }

  private post(message: ToDrawing, transfer: Transferable[] = []): void {
    this.worker?.postMessage(message, transfer);
  }

  private receive(message: FromDrawing): void {
    if (message.type === "opened") {
      const [first] = message.devices;
      this.state = { ...this.state, devices: message.devices, device: first?.device ?? 0 };
    } else if (message.type === "refused") {
      this.refusal = this.t(`rec.refused.${message.why}`, { what: message.what, at: message.at });
    } else if (message.id !== this.asked) return;
    else if (message.type === "drawn") this.state = { ...this.state, drawn: message };
    else this.state = { ...this.state, moment: message };
    this.changed();
  }

  /** Draws on the next frame, however often it is asked for. */
  private draw(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const { canvas } = this;
      if (!(canvas instanceof HTMLElement)) return;
      const { device, view, search } = this.state;
      this.post({
        type: "draw",
        id: this.asked,
        device,
        view,
        search,
        range: this.range,
        width: canvas.clientWidth,
        height: canvas.clientHeight,
        ratio: devicePixelRatio,
        colours: coloursOf(document.body),
        cursor: this.cursor,
      });
    });
  }

  private look(x: number, y: number | null): void {
    this.cursor = Math.min(1, Math.max(0, x));
    this.asked++;
    this.post({ type: "at", id: this.asked, x: this.cursor, y });
    this.draw();
  }

  private shown(): Range {
    const entries = this.state.devices.find(({ device }) => device === this.state.device)?.entries ?? 1;
    return this.range ?? { from: 0, to: Math.max(1, entries) };
  }

  private zoom(how: "closer" | "wider" | "whole", at = this.cursor ?? 0.5): void {
    const { from, to } = this.shown();
    const entries = this.state.devices.find(({ device }) => device === this.state.device)?.entries ?? 1;
    if (how === "whole") this.range = null;
    else {
      const span = Math.max(LEAST, (to - from) * (how === "closer" ? KEPT : 1 / KEPT));
      const first = Math.max(0, Math.round(from + at * (to - from) - at * span));
      const range = { from: first, to: Math.min(entries, Math.round(first + span)) };
      this.range = range.from === 0 && range.to >= entries ? null : range;
    }
    this.draw();
  }

  private readonly actions: RecordingActions = {
    send: (message) => this.send(message),
    choose: (change) => {
      if (change.device !== undefined) this.range = null;
      this.state = { ...this.state, ...change, moment: change.device === undefined ? this.state.moment : null };
      this.draw();
      this.changed();
    },
    zoom: (how) => this.zoom(how),
    point: (event) => {
      const box = (event.currentTarget ?? event.target) as HTMLElement;
      const { left, top, width, height } = box.getBoundingClientRect();
      this.look((event.clientX - left) / width, 1 - (event.clientY - top) / height);
    },
    press: (event) => {
      const moves: Readonly<Record<string, () => void>> = {
        ArrowLeft: () => this.look((this.cursor ?? 0.5) - STEP, null),
        ArrowRight: () => this.look((this.cursor ?? 0.5) + STEP, null),
        Home: () => this.look(0, null),
        End: () => this.look(1, null),
        "+": () => this.zoom("closer"),
        "=": () => this.zoom("closer"),
        "-": () => this.zoom("wider"),
        Escape: () => this.zoom("whole"),
      };
      const move = Object.hasOwn(moves, event.key) ? moves[event.key] : undefined;
      if (move === undefined) return;
      event.preventDefault();
      move();
    },
    wheel: (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { left, width } = (event.target as HTMLElement).getBoundingClientRect();
      this.zoom(event.deltaY < 0 ? "closer" : "wider", (event.clientX - left) / width);
    },
  };
}
