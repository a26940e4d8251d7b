/** Tokens of a shell script, with every character's place in the file. */
import type { Message } from "../../words/message";

/** Text to read, with the offset in the document of each of its characters. */
export interface ShellSource {
  readonly text: string;
  at(index: number): number;
}

export type Piece =
  | { readonly kind: "text"; readonly text: string; readonly offsets: readonly number[]; readonly quoted: boolean }
  | {
      readonly kind: "variable";
      readonly name: string;
      readonly quoted: boolean;
      readonly all: boolean;
      /** `:-`, `-`, `:=`, `=`: the value when unset; anything else makes the value unknown. */
      readonly operator: string;
      readonly fallback: Word | null;
      readonly raw: string;
    }
  | { readonly kind: "arithmetic"; readonly expression: string; readonly quoted: boolean; readonly raw: string }
  | { readonly kind: "unknown"; readonly reason: Message; readonly quoted: boolean; readonly raw: string };

export interface Word {
  readonly pieces: readonly Piece[];
  readonly start: number;
  readonly end: number;
}

export type Token =
  | { readonly kind: "word"; readonly word: Word }
  | {
      readonly kind: "array";
      readonly name: string;
      readonly append: boolean;
      readonly items: readonly Word[];
      readonly start: number;
      readonly end: number;
    }
  | { readonly kind: "operator"; readonly text: string; readonly start: number; readonly end: number }
  | { readonly kind: "heredoc"; readonly body: Word; readonly quoted: boolean }
  /** The file that output goes to and that is written anew (`> file`). */
  | { readonly kind: "output"; readonly word: Word };

export interface LexOptions {
  /** Makefile recipes: `$(NAME)` and `${NAME}` are make variables, `$$` is a dollar. */
  readonly make: boolean;
  /** Fallbacks (`${A:-…}`) around what is read. */
  readonly depth?: number;
}

/** Collects the characters of one text piece with their places. */
export class TextBuffer {
  private text = "";
  private offsets: number[] = [];

  add(character: string, offset: number): void {
    // Stands where a notebook's name in braces was one character longer.
    if (character === "\u0000") return;
    this.text += character;
    if (character.length > 0) this.offsets.push(offset);
  }

  flush(pieces: Piece[], quoted: boolean, keepEmpty = false): void {
    if (this.text === "" && !keepEmpty) return;
    pieces.push({ kind: "text", text: this.text, offsets: this.offsets, quoted });
    this.text = "";
    this.offsets = [];
  }
}
