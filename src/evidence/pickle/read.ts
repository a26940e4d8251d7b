/**
 * Reads a pickle as data: numbers, text, bytes, lists, tuples, dictionaries and sets of protocols 0 to 5. Nothing is imported,
 * called or built: a pickle that asks for that is refused by the name of what it asks for. Source: Lib/pickle.py of Python 3.14,
 * and Lib/pickletools.py for the arguments of every opcode.
 */

/** What a pickle holds. Tuples and sets are arrays; integers beyond 2⁵³ are rounded. */
export type PickleValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | PickleValue[]
  | { [key: string]: PickleValue };

export type PickleRead =
  | { readonly ok: true; readonly value: PickleValue }
  | {
      readonly ok: false;
      /** `code`: it asks for code; `broken`: it is no pickle, or cut short; `large`: it holds more than is read. */
      readonly why: "code" | "broken" | "large";
      /** What it asks for (`os.system`), or the opcode that cannot be read. */
      readonly what: string;
      /** Byte of the file. */
      readonly at: number;
    };

/** Values on the stack at once: lists are filled in portions of a thousand, old protocols push them whole. */
const MOST_STACKED = 20_000_000;
/** Bytes of an integer in decimal or binary digits. */
const LONGEST_NUMBER = 64;

class Refusal {
  constructor(
    readonly why: "code" | "broken" | "large",
    readonly what: string,
  ) {}
}

/** Marks where the items of a portion begin. */
const MARK = Symbol("mark");
type Stacked = PickleValue | typeof MARK;

/** Opcodes that import, call, build or refer to something outside of the file. */
const CODE: ReadonlyMap<number, string> = new Map(
  Object.entries({
    R: "REDUCE",
    b: "BUILD",
    o: "OBJ",
    P: "PERSID",
    Q: "BINPERSID",
    "\u0081": "NEWOBJ",
    "\u0082": "EXT1",
    "\u0083": "EXT2",
    "\u0084": "EXT4",
    "\u0092": "NEWOBJ_EX",
    "\u0093": "STACK_GLOBAL",
    "\u0097": "NEXT_BUFFER",
    "\u0098": "READONLY_BUFFER",
  }).map(([char, name]) => [char.charCodeAt(0), name]),
);

const UTF8 = new TextDecoder("utf-8");
const LATIN = new TextDecoder("latin1");

/** Python's `raw-unicode-escape`. */
function unescaped(text: string): string {
  return text.replace(/\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})/g, (_, short?: string, long?: string) => {
    const code = Number.parseInt(short ?? long ?? "", 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
  });
}

class Reader {
  private readonly view: DataView;
  private readonly stack: Stacked[] = [];
  private readonly memo: PickleValue[] = [];
  at = 0;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Runs to the opcode that ends the pickle. */
  run(): PickleValue {
    for (;;) {
      const start = this.at;
      const opcode = this.take();
      if (opcode === 0x2e) return this.popped();
      if (!this.step(opcode)) {
        this.at = start;
        const code = CODE.get(opcode);
        if (code !== undefined) throw new Refusal("code", this.asked() ?? code);
        throw new Refusal("broken", `0x${opcode.toString(16)}`);
      }
    }
  }

  /** What STACK_GLOBAL and the calls after it would import: the two texts on top. */
  private asked(): string | undefined {
    const [module, name] = this.stack.slice(-2);
    return typeof module === "string" && typeof name === "string" ? `${module}.${name}` : undefined;
  }

  /** Carries out one opcode; false for one that is none of data. */
  private step(opcode: number): boolean {
    switch (opcode) {
      case 0x80: // PROTO
        if (this.take() > 5) throw new Refusal("broken", "PROTO");
        return true;
      case 0x95: // FRAME
        this.skip(8);
        return true;
      case 0x28:
        return this.push(MARK);
      case 0x30: // POP
        if (this.stack.pop() === undefined) throw new Refusal("broken", "POP");
        return true;
      case 0x31: // POP_MARK
        this.items();
        return true;
      case 0x32: // DUP
        return this.push(this.top());
      case 0x4e:
        return this.push(null);
      case 0x88:
        return this.push(true);
      case 0x89:
        return this.push(false);
      case 0x4a: // BININT
        return this.push(this.view.getInt32(this.skip(4), true));
      case 0x4b: // BININT1
        return this.push(this.take());
      case 0x4d: // BININT2
        return this.push(this.view.getUint16(this.skip(2), true));
      case 0x8a: // LONG1
        return this.push(this.long(this.take()));
      case 0x8b: // LONG4
        return this.push(this.long(this.view.getInt32(this.skip(4), true)));
      case 0x49: // INT
        return this.push(this.integer());
      case 0x4c: // LONG
        return this.push(this.decimal());
      case 0x46: // FLOAT
        return this.push(Number(this.line()));
      case 0x47: // BINFLOAT
        return this.push(this.view.getFloat64(this.skip(8), false));
      case 0x8c: // SHORT_BINUNICODE
        return this.push(this.text(this.take()));
      case 0x58: // BINUNICODE
        return this.push(this.text(this.view.getUint32(this.skip(4), true)));
      case 0x8d: // BINUNICODE8
        return this.push(this.text(this.length8()));
      case 0x56: // UNICODE
        return this.push(unescaped(this.latin()));
      case 0x53: // STRING
        return this.push(this.line().replace(/^['"]|['"]$/g, ""));
      case 0x55: // SHORT_BINSTRING
        return this.push(this.text(this.take()));
      case 0x54: // BINSTRING
        return this.push(this.text(this.view.getUint32(this.skip(4), true)));
      case 0x43: // SHORT_BINBYTES
        return this.push(this.raw(this.take()));
      case 0x42: // BINBYTES
        return this.push(this.raw(this.view.getUint32(this.skip(4), true)));
      case 0x8e: // BINBYTES8
      case 0x96: // BYTEARRAY8
        return this.push(this.raw(this.length8()));
      case 0x5d: // EMPTY_LIST
      case 0x29: // EMPTY_TUPLE
      case 0x8f: // EMPTY_SET
        return this.push([]);
      case 0x6c: // LIST
      case 0x74: // TUPLE
      case 0x91: // FROZENSET
        return this.push(this.items());
      case 0x85: // TUPLE1
        return this.push(this.last(1));
      case 0x86: // TUPLE2
        return this.push(this.last(2));
      case 0x87: // TUPLE3
        return this.push(this.last(3));
      case 0x7d: // EMPTY_DICT
        return this.push({});
      case 0x64: // DICT
        return this.push(filled({}, this.items()));
      case 0x61: // APPEND
        return this.append(this.last(1));
      case 0x65: // APPENDS
      case 0x90: // ADDITEMS
        return this.append(this.items());
      case 0x73: // SETITEM
        return this.set(this.last(2));
      case 0x75: // SETITEMS
        return this.set(this.items());
      case 0x94: // MEMOIZE
        this.memo.push(this.top());
        return true;
      case 0x71: // BINPUT
        return this.put(this.take());
      case 0x72: // LONG_BINPUT
        return this.put(this.view.getUint32(this.skip(4), true));
      case 0x70: // PUT
        return this.put(this.decimal());
      case 0x68: // BINGET
        return this.get(this.take());
      case 0x6a: // LONG_BINGET
        return this.get(this.view.getUint32(this.skip(4), true));
      case 0x67: // GET
        return this.get(this.decimal());
      case 0x63: // GLOBAL
        throw new Refusal("code", `${this.line()}.${this.line()}`);
      case 0x69: // INST
        throw new Refusal("code", `${this.line()}.${this.line()}`);
      default:
        return false;
    }
  }

  private take(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new Refusal("broken", "end of file");
    return byte;
  }

  /** Goes over so many bytes; where they begin. */
  private skip(count: number): number {
    const from = this.at;
    this.at += count;
    if (this.at > this.bytes.length) throw new Refusal("broken", "end of file");
    return from;
  }

  private push(value: Stacked): true {
    if (this.stack.length >= MOST_STACKED) throw new Refusal("large", "stack");
    this.stack.push(value);
    return true;
  }

  private popped(): PickleValue {
    const value = this.stack.pop();
    if (value === undefined || value === MARK) throw new Refusal("broken", "empty stack");
    return value as PickleValue;
  }

  private top(): PickleValue {
    const value = this.stack[this.stack.length - 1];
    if (value === undefined || value === MARK) throw new Refusal("broken", "empty stack");
    return value as PickleValue;
  }

  private last(count: number): PickleValue[] {
    const values: PickleValue[] = new Array(count);
    for (let k = count - 1; k >= 0; k--) values[k] = this.popped();
    return values;
  }

  /** What is on the stack above the last mark, which goes, too. */
  private items(): PickleValue[] {
    const from = this.stack.lastIndexOf(MARK);
    if (from < 0) throw new Refusal("broken", "no mark");
    const values = this.stack.slice(from + 1) as PickleValue[];
    this.stack.length = from;
    return values;
  }

  private append(values: readonly PickleValue[]): true {
    const list = this.top();
    if (!Array.isArray(list)) throw new Refusal("broken", "APPEND");
    for (const value of values) list.push(value);
    return true;
  }

  private set(values: readonly PickleValue[]): true {
    const into = this.top();
    if (into === null || typeof into !== "object" || Array.isArray(into) || into instanceof Uint8Array)
      throw new Refusal("broken", "SETITEM");
    filled(into, values);
    return true;
  }

  private put(index: number): true {
    // Every entry took a byte of the file: a place beyond them is none that a pickler wrote.
    if (!(index >= 0 && index <= this.bytes.length)) throw new Refusal("broken", "PUT");
    this.memo[index] = this.top();
    return true;
  }

  private get(index: number): true {
    const value = this.memo[index];
    if (value === undefined) throw new Refusal("broken", "GET");
    return this.push(value);
  }

  private text(length: number): string {
    const from = this.skip(length);
    const { bytes } = this;
    if (length < 24) {
      let text = "";
      for (let k = from; k < from + length; k++) {
        const byte = bytes[k]!;
        if (byte > 127) return UTF8.decode(bytes.subarray(from, from + length));
        text += String.fromCharCode(byte);
      }
      return text;
    }
    return UTF8.decode(bytes.subarray(from, from + length));
  }

  private raw(length: number): Uint8Array {
    const from = this.skip(length);
    return this.bytes.subarray(from, from + length);
  }

  private length8(): number {
    const length = Number(this.view.getBigUint64(this.skip(8), true));
    if (length > this.bytes.length) throw new Refusal("broken", "end of file");
    return length;
  }

  /** Little-endian two's complement. */
  private long(length: number): number {
    if (length < 0 || length > LONGEST_NUMBER) throw new Refusal("large", "LONG");
    const from = this.skip(length);
    let value = 0;
    for (let k = length - 1; k >= 0; k--) value = value * 256 + this.bytes[from + k]!;
    const negative = length > 0 && this.bytes[from + length - 1]! > 127;
    return negative ? value - 256 ** length : value;
  }

  private line(decoder = UTF8): string {
    const end = this.bytes.indexOf(0x0a, this.at);
    if (end < 0) throw new Refusal("broken", "end of file");
    const text = decoder.decode(this.bytes.subarray(this.at, end));
    this.at = end + 1;
    return text;
  }

  private latin(): string {
    return this.line(LATIN);
  }

  /** Of protocol 0, where truth values are spelled `I01` and `I00`. */
  private integer(): number | boolean {
    const from = this.at;
    const text = this.line();
    if (text === "01") return true;
    if (text === "00") return false;
    this.at = from;
    return this.decimal();
  }

  private decimal(): number {
    const text = this.line().replace(/L$/, "");
    if (text.length > LONGEST_NUMBER) throw new Refusal("large", "LONG");
    const value = Number(text);
    if (text === "" || !Number.isFinite(value)) throw new Refusal("broken", "INT");
    return value;
  }
}

/** Puts pairs into a dictionary. Keys that are not text are spelled as text; one that every object has is an own property. */
function filled(into: { [key: string]: PickleValue }, pairs: readonly PickleValue[]): { [key: string]: PickleValue } {
  for (let k = 0; k + 1 < pairs.length; k += 2) {
    const key = pairs[k];
    const name = typeof key === "string" ? key : typeof key === "number" ? String(key) : JSON.stringify(key ?? null);
    if (name === "__proto__")
      Object.defineProperty(into, name, { value: pairs[k + 1], enumerable: true, writable: true, configurable: true });
    else into[name] = pairs[k + 1]!;
  }
  return into;
}

/** Reads a pickle; never throws, and executes nothing of it. */
export function readPickle(bytes: Uint8Array): PickleRead {
  const reader = new Reader(bytes);
  try {
    return { ok: true, value: reader.run() };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, why: error.why, what: error.what, at: reader.at };
    return { ok: false, why: "broken", what: error instanceof Error ? error.message : String(error), at: reader.at };
  }
}
