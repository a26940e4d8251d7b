/**
 * PyYAML lets quoted texts and bracketed collections go on at any column of the next lines; the YAML parser wants them
 * indented. Their lines are joined here, length for length, so that every place stays where it is.
 * Source: `yaml/scanner.py` (`scan_flow_scalar_spaces` and `flow_level` look at no column).
 */

/** The text with the lines of every quoted text and bracketed collection joined; undefined when there is none to join. */
export function joinedLines(text: string): string | undefined {
  const result = text.split("");
  const scan = new Scan(text, result);
  scan.run();
  return scan.joined ? result.join("") : undefined;
}

const OPENS_BLOCK = /^[|>][-+0-9]*[ \t]*(?:#.*)?$/;

class Scan {
  joined = false;
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly result: string[],
  ) {}

  run(): void {
    while (this.at < this.text.length) this.line();
  }

  /** One line of block style: its nodes begin after indentation and the marks of keys and list items. */
  private line(): void {
    const start = this.at;
    let begins = true;
    while (this.at < this.text.length && this.char() !== "\n") {
      const char = this.char();
      if (char === "#" && (this.at === start || /[ \t]/.test(this.text.charAt(this.at - 1)))) break;
      if (begins && /[|>]/.test(char) && OPENS_BLOCK.test(this.restOfLine())) {
        this.block(start);
        return;
      }
      begins = this.node(char, begins);
    }
    this.skipLine();
  }

  /** One step in a line; returns whether a node may begin behind it. */
  private node(char: string, begins: boolean): boolean {
    if (begins && (char === "'" || char === '"')) return this.quoted();
    if (begins && (char === "[" || char === "{")) return this.flow();
    if (begins && (char === "&" || char === "!")) {
      while (this.at < this.text.length && !/\s/.test(this.char())) this.at++;
      return true;
    }
    this.at++;
    if (char === " " || char === "\t") return begins;
    return /[-?:]/.test(char) && /\s/.test(this.char() || "\n");
  }

  private char(): string {
    return this.text.charAt(this.at);
  }

  private restOfLine(): string {
    const end = this.text.indexOf("\n", this.at);
    return this.text.slice(this.at, end < 0 ? undefined : end).trimEnd();
  }

  private skipLine(): void {
    const end = this.text.indexOf("\n", this.at);
    this.at = end < 0 ? this.text.length : end + 1;
  }

  /** A block of text: every line deeper than the one that opens it. */
  private block(start: number): void {
    const indent = this.text.slice(start).search(/\S/);
    this.skipLine();
    while (this.at < this.text.length) {
      const line = this.restOfLine();
      if (line.trim() !== "" && line.search(/\S/) <= indent) return;
      this.skipLine();
    }
  }

  /** A quoted text, its line ends joined; returns whether a node may begin behind it. */
  private quoted(): boolean {
    const quote = this.char();
    let end = this.at + 1;
    for (; end < this.text.length; end++) {
      const char = this.text.charAt(end);
      if (char === "\\" && quote === '"') end++;
      else if (char === quote) {
        if (quote !== "'" || this.text.charAt(end + 1) !== "'") break;
        end++;
      }
    }
    if (end < this.text.length) this.join(this.at, end);
    this.at = Math.min(this.text.length, end + 1);
    return false;
  }

  private flow(): boolean {
    let depth = 0;
    let begins = true;
    const start = this.at;
    const comments: [number, number][] = [];
    while (this.at < this.text.length) {
      const char = this.char();
      if (begins && (char === "'" || char === '"')) {
        begins = this.quoted();
        continue;
      }
      if (char === "#" && /\s/.test(this.text.charAt(this.at - 1))) {
        const end = this.text.indexOf("\n", this.at);
        comments.push([this.at, end < 0 ? this.text.length : end]);
        this.at = end < 0 ? this.text.length : end;
        continue;
      }
      if (char === "[" || char === "{") depth++;
      else if ((char === "]" || char === "}") && --depth === 0) {
        this.at++;
        for (const [from, to] of comments) this.result.fill(" ", from, to);
        this.join(start, this.at);
        return false;
      }
      if (/[[{,:]/.test(char)) begins = true;
      else if (!/\s/.test(char)) begins = false;
      this.at++;
    }
    return false;
  }

  private join(from: number, to: number): void {
    for (let index = from; index < to; index++) {
      const char = this.text.charAt(index);
      if (char !== "\n" && char !== "\r") continue;
      this.result[index] = " ";
      this.joined = true;
    }
  }
}
