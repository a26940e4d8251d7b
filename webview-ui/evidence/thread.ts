/** What the page of a recording and its drawing thread say to one another: plain data. */
import type { DeviceSummary } from "../../src/evidence/snapshot/summary";
import type { Place } from "../../src/evidence/snapshot/types";
import type { Range } from "./drawing";

export type View = "timeline" | "segments";

export type ToDrawing =
  | { readonly type: "open"; readonly bytes: ArrayBuffer }
  /** The canvas to draw on, handed over once. */
  | { readonly type: "canvas"; readonly canvas: OffscreenCanvas }
  | {
      readonly type: "draw";
      readonly id: number;
      readonly device: number;
      readonly view: View;
      readonly range: Range | null;
      readonly search: string;
      readonly width: number;
      readonly height: number;
      readonly ratio: number;
      /** Colours by part, and the last one for what has none; then free, text, grid. */
      readonly colours: readonly string[];
      readonly cursor: number | null;
    }
  /** What is alive at a share of the width, and what lies at a share of the height, from the bottom. */
  | { readonly type: "at"; readonly id: number; readonly x: number; readonly y: number | null };

/** One tensor as the page lists it. */
export interface ListedTensor {
  readonly id: number;
  readonly bytes: number;
  readonly part: number;
  readonly born: number;
  readonly died: number;
  /** Innermost first. */
  readonly stack: readonly Place[];
}

export type FromDrawing =
  | { readonly type: "opened"; readonly kind: "snapshot" | "profile"; readonly devices: readonly DeviceSummary[] }
  | {
      readonly type: "refused";
      readonly why: "code" | "broken" | "large" | "other";
      readonly what: string;
      readonly at: number;
    }
  | {
      readonly type: "drawn";
      readonly id: number;
      readonly range: Range;
      readonly entries: number;
      /** Bytes at the top of the drawing. */
      readonly top: number;
      /** Tensors and bytes at the peak that the search finds; null: nothing is searched. */
      readonly found: { readonly count: number; readonly bytes: number } | null;
    }
  | {
      readonly type: "found";
      readonly id: number;
      readonly entry: number;
      readonly aliveBytes: number;
      readonly reservedBytes: number | null;
      readonly part: number;
      /** The one under the pointer; null: none. */
      readonly pointed: ListedTensor | null;
      /** The largest ones alive. */
      readonly largest: readonly ListedTensor[];
      readonly count: number;
    };
