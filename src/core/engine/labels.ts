/**
 * What allocations are: their kind, the operator and module that make them, the kernel that writes them. In columns of
 * numbers, as a run makes tens of thousands of them while everything else is alive.
 */
import { widened } from "../columns";
import type { ComponentKind } from "../report/estimate";
import type { Product } from "../report/operators";

/** What a kernel multiplies. */
export interface Work {
  readonly product?: Product;
  /** FLOP of the two products inside an attention kernel. */
  readonly attention?: number;
}

/** What the kernel that writes a block does besides. */
export interface Kernel extends Work {
  /** Bytes that it reads. */
  readonly reads: number;
}

/** What an allocation is: one per call of the allocator, shared by the blocks that repeat it. */
export interface Label {
  readonly kind: ComponentKind;
  /** The dispatcher's name of what allocates. */
  readonly operator: string;
  /** Path of the module that it belongs to. */
  readonly scope: string;
  /** The kernel that writes it; null for a further output of the one before, and for what no kernel writes. */
  readonly kernel: Kernel | null;
}

/** CUDA streams beside the one that the model runs on. */
export const SIDE_STREAMS = { gathering: 1, reducing: 2 } as const;
export type SideStream = (typeof SIDE_STREAMS)[keyof typeof SIDE_STREAMS];

/** In place of the bytes that a kernel reads: there is no kernel. */
export const NO_KERNEL = -1;

/** Words by number. The same one often comes several times in a row. */
class Words<T extends string> {
  readonly all: T[] = [];
  private readonly numbers = new Map<T, number>();
  private last = -1;

  numberOf(word: T): number {
    if (this.last >= 0 && this.all[this.last] === word) return this.last;
    let number = this.numbers.get(word);
    if (number === undefined) {
      number = this.all.push(word) - 1;
      this.numbers.set(word, number);
    }
    this.last = number;
    return number;
  }
}

/** Room for this many labels at first; doubled when it is used up. */
const FIRST_ROOM = 2048;

export class Labels {
  count = 0;
  private kinds = new Uint8Array(FIRST_ROOM);
  private operators = new Uint16Array(FIRST_ROOM);
  private scopes = new Int32Array(FIRST_ROOM);
  private reads = new Float64Array(FIRST_ROOM);
  private streams = new Uint8Array(FIRST_ROOM);
  /** Some label is of a side stream. */
  hasStreams = false;
  /** Places in `works`, counted from 1; 0: nothing is multiplied. */
  private workPlaces = new Int32Array(FIRST_ROOM);
  private readonly works: Work[] = [];
  private readonly kindWords = new Words<ComponentKind>();
  private readonly operatorWords = new Words<string>();
  private readonly scopeWords = new Words<string>();

  /** @param reads bytes that the kernel reads, or `NO_KERNEL` */
  add(kind: ComponentKind, operator: string, scope: string, reads: number, work: Work | null): number {
    const index = this.count++;
    if (index === this.kinds.length) this.grow();
    this.kinds[index] = this.kindWords.numberOf(kind);
    this.operators[index] = this.operatorWords.numberOf(operator);
    this.scopes[index] = this.scopeWords.numberOf(scope);
    this.reads[index] = reads;
    if (work !== null) this.workPlaces[index] = this.works.push(work);
    return index;
  }

  at(index: number): Label {
    const kind = this.kindOf(index);
    const operator = this.operatorWords.all[this.operators[index]!]!;
    const reads = this.readsOf(index);
    const kernel = reads === NO_KERNEL ? null : { reads, ...this.workOf(index) };
    return { kind, operator, scope: this.scopeOf(index), kernel };
  }

  kindOf(index: number): ComponentKind {
    return this.kindWords.all[this.kinds[index]!]!;
  }

  /** The block is of a side stream's pool. */
  setStream(index: number, stream: SideStream): void {
    this.streams[index] = stream;
    this.hasStreams = true;
  }

  /** The stream whose pool a block is of, by label; 0: the one that the model runs on. */
  byStream(): Uint8Array {
    return this.streams;
  }

  scopeOf(index: number): string {
    return this.scopeWords.all[this.scopes[index]!]!;
  }

  readsOf(index: number): number {
    return this.reads[index]!;
  }

  workOf(index: number): Work | null {
    return this.works[this.workPlaces[index]! - 1] ?? null;
  }

  setKind(index: number, kind: ComponentKind): void {
    this.kinds[index] = this.kindWords.numberOf(kind);
  }

  /** For each label whether an operator is its; null when no label is. */
  ofOperator(operator: string): Uint8Array | null {
    const number = this.operatorWords.all.indexOf(operator);
    if (number < 0) return null;
    const own = new Uint8Array(this.count);
    for (let index = 0; index < own.length; index++) own[index] = this.operators[index] === number ? 1 : 0;
    return own;
  }

  /** A small number for each label, by its kind. */
  byKind(numberOf: Readonly<Record<ComponentKind, number>>): Uint8Array {
    const numbers = this.kindWords.all.map((kind) => numberOf[kind]);
    const own = new Uint8Array(this.count);
    for (let index = 0; index < own.length; index++) own[index] = numbers[this.kinds[index]!]!;
    return own;
  }

  /** A small number for each label, by its scope. */
  byScope(numberOf: (scope: string) => number): Uint16Array {
    const numbers = this.scopeWords.all.map(numberOf);
    const own = new Uint16Array(this.count);
    for (let index = 0; index < own.length; index++) own[index] = numbers[this.scopes[index]!]!;
    return own;
  }

  private grow(): void {
    const room = 2 * this.kinds.length;
    this.kinds = widened(this.kinds, new Uint8Array(room));
    this.operators = widened(this.operators, new Uint16Array(room));
    this.scopes = widened(this.scopes, new Int32Array(room));
    this.reads = widened(this.reads, new Float64Array(room));
    this.streams = widened(this.streams, new Uint8Array(room));
    this.workPlaces = widened(this.workPlaces, new Int32Array(room));
  }
}
