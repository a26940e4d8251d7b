/** Places and stacks of a recording, each once: entries share them, by reference or by what they say. */
import type { PickleValue } from "../pickle/read";
import type { Place } from "./types";

type Dictionary = { readonly [key: string]: PickleValue };

function isDictionary(value: unknown): value is Dictionary {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

function isSame(stack: Int32Array, places: readonly number[]): boolean {
  return stack.length === places.length && places.every((place, index) => stack[index] === place);
}

/** Frames of one stack that are kept. */
const DEEPEST = 200;

export class Stacks {
  readonly places: Place[] = [];
  readonly stacks: Int32Array[] = [new Int32Array(0)];
  private readonly placeOf = new Map<object, number>();
  private readonly placeBy = new Map<string, number>();
  private readonly stackOf = new Map<object, number>();
  /** Stacks by a hash of their places. */
  private readonly stackBy = new Map<number, number[]>([[0, [0]]]);

  /** Number of a place. */
  place(file: string, line: number, name: string): number {
    const key = `${file}\u0000${line}\u0000${name}`;
    let number = this.placeBy.get(key);
    if (number === undefined) {
      number = this.places.push({ file: file.replaceAll("\\", "/"), line, name }) - 1;
      this.placeBy.set(key, number);
    }
    return number;
  }

  /** Number of a stack of places. */
  stack(places: readonly number[]): number {
    let hash = 0;
    for (const place of places) hash = (Math.imul(hash, 31) + place + 1) | 0;
    const alike = this.stackBy.get(hash) ?? [];
    const known = alike.find((number) => isSame(this.stacks[number]!, places));
    if (known !== undefined) return known;
    const number = this.stacks.push(Int32Array.from(places)) - 1;
    this.stackBy.set(hash, [...alike, number]);
    return number;
  }

  /** Number of a list of frames as a snapshot has it; anything else is the empty stack. */
  of(frames: unknown): number {
    if (!Array.isArray(frames) || frames.length === 0) return 0;
    const known = this.stackOf.get(frames);
    if (known !== undefined) return known;
    const places: number[] = [];
    for (const frame of frames.slice(0, DEEPEST)) {
      if (!isDictionary(frame)) continue;
      places.push(this.placed(frame));
    }
    const number = this.stack(places);
    this.stackOf.set(frames, number);
    return number;
  }

  private placed(frame: Dictionary): number {
    const known = this.placeOf.get(frame);
    if (known !== undefined) return known;
    const { filename, line, name } = frame;
    const number = this.place(
      typeof filename === "string" ? filename : "",
      typeof line === "number" ? line : 0,
      typeof name === "string" ? name : "",
    );
    this.placeOf.set(frame, number);
    return number;
  }
}
