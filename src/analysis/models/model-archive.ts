/**
 * The packaged data as one archive, the way the extension ships it (`scripts/archive.mjs`): graphs are alike, and compressed
 * together they take a third of what each takes alone. What was asked for is kept by whoever asked; of the rest nothing stays.
 */
import type { Runtime } from "../runtime";
import { unpacked } from "./unpacked";

/** What stands in an archive: where each file is among the bytes. */
interface Content {
  readonly bytes: Uint8Array;
  /** Start and end of each file by its path. */
  readonly places: ReadonlyMap<string, readonly [number, number]>;
  /** What a sign that is no text stands for. */
  readonly stretches: ReadonlyMap<string, string>;
}

/** The archive's first line. */
interface Head {
  readonly places: readonly (readonly [path: string, bytes: number])[];
  readonly stretches: readonly string[];
}

/** Every byte is a sign of its own. */
const bytewise = (bytes: Uint8Array): string => new TextDecoder("latin1").decode(bytes);
/** Signs that stand for something else. */
const CODES = /[^\0\n -~]/g;

/** XZ of a line of JSON and the files behind it in that order, in which signs that no JSON has stand for stretches of it. */
export class ModelArchive {
  /** Until memory is short: files are asked for several in a row. */
  private opened: WeakRef<Content> | undefined;
  /** While it is unpacked, for all who ask. */
  private opening: Promise<Content> | undefined;

  constructor(private readonly packed: Uint8Array) {}

  /** The text of a file; undefined where the archive has no such file. Rejects where it is no archive. */
  async text(path: string): Promise<string | undefined> {
    const { bytes, places, stretches } = await this.content();
    const place = places.get(path);
    return place && bytewise(bytes.subarray(...place)).replace(CODES, (sign) => stretches.get(sign) ?? "");
  }

  private content(): Promise<Content> {
    const known = this.opened?.deref();
    if (known !== undefined) return Promise.resolve(known);
    this.opening ??= this.unpacked().finally(() => {
      this.opening = undefined;
    });
    return this.opening;
  }

  private async unpacked(): Promise<Content> {
    const bytes = await unpacked(this.packed);
    const head = bytes.indexOf(10);
    const files = JSON.parse(bytewise(bytes.subarray(0, head))) as Head;
    const codes = bytewise(Uint8Array.from({ length: 256 }, (_, byte) => byte)).match(CODES) ?? [];
    const stretches = new Map(codes.map((sign, at) => [sign, files.stretches[at] ?? ""]));
    const places = new Map<string, readonly [number, number]>();
    let at = head + 1;
    for (const [path, length] of files.places) {
      places.set(path, [at, at + length]);
      at += length;
    }
    const content = { bytes, places, stretches };
    this.opened = new WeakRef(content);
    return content;
  }
}

/** The runtime with its packaged data out of the archive, where it has one. */
export function withArchive(runtime: Runtime): Runtime {
  const { readModelArchive } = runtime;
  if (readModelArchive === undefined) return runtime;
  let archive: Promise<ModelArchive | undefined> | undefined;
  const opened = async (): Promise<ModelArchive | undefined> => {
    const packed = await readModelArchive();
    return packed && new ModelArchive(packed);
  };
  return {
    files: runtime.files,
    readModelData: async (path) => {
      archive ??= opened();
      const found = await archive;
      return found === undefined ? runtime.readModelData(path) : found.text(path);
    },
    get hubCaches() {
      return runtime.hubCaches;
    },
    get workspaceFolders() {
      return runtime.workspaceFolders;
    },
    get trusted() {
      return runtime.trusted !== false;
    },
  };
}
