/**
 * Code that a change needs where no call is there to say it: an adapter put on the model, a model loaded in 4 or 8 bits.
 * Written where the libraries take it: `peft_config` of TRL's trainers, `get_peft_model` before the plain Trainer,
 * `quantization_config` of `from_pretrained`.
 */

import { type EditDialect, eolOf, indentOf, insertPath, lineStart } from "../../syntax/edit";
import type { PythonCall, SpanEdit } from "../../syntax/tree";
import { type Message, say } from "../../words/message";
import type { View } from "../schema";
import type { ConfigDocument, EditContext, SettingChange } from "../types";
import { takes } from "./accepted";
import { given, keyword, lastName } from "./called";
import { isUnsloth, unslothAdapts } from "./unsloth";

/** What is written by code of its own, and the changes that are left for keywords that are there. */
export type Constructed =
  | { readonly edits: readonly SpanEdit[]; readonly rest: readonly SettingChange[] }
  | { readonly refused: Message };

/** LoRA's own arguments, by the setting that they are. */
const LORA: readonly (readonly [string, string])[] = [
  ["lora_rank", "r"],
  ["lora_alpha", "lora_alpha"],
  ["lora_dropout", "lora_dropout"],
  ["lora_target_modules", "target_modules"],
  ["use_dora", "use_dora"],
];
const ADAPTER: ReadonlySet<string> = new Set(["use_peft", "adapter", ...LORA.map(([name]) => name)]);
const QUANTIZATION: ReadonlySet<string> = new Set([
  "load_in_4bit",
  "load_in_8bit",
  "quantization",
  "double_quantization",
]);

/** Stands for code until its place is known. */
const MARKER = "vram_lens_code";
const QUOTED_MARKER = /\\?["']vram_lens_code\\?["']/;

function isLora(callee: string): boolean {
  return callee.endsWith("LoraConfig") || unslothAdapts(callee);
}

/** One writing of code into a module. */
class Writing {
  readonly edits: SpanEdit[] = [];
  private readonly dialect: EditDialect;
  private readonly notebook: boolean;
  private readonly imported: ReadonlySet<string>;

  constructor(private readonly document: ConfigDocument) {
    this.notebook = document.parsed.syntax === "notebook";
    this.dialect = this.notebook ? "notebook" : "python";
    this.imported = new Set(document.parsed.python?.imports.map(lastName) ?? []);
  }

  /** Text of a value; a notebook's cells stand in double quotes. */
  text(value: SettingChange["value"]): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.text(item)).join(", ")}]`;
    if (typeof value === "string") return this.notebook ? `'${value}'` : JSON.stringify(value);
    return value === true ? "True" : value === false ? "False" : value === null ? "None" : String(value);
  }

  /** A keyword argument with code as its value. */
  keyword(call: PythonCall, name: string, code: string): boolean {
    const result = insertPath(this.document.text, call.keywords, [name], MARKER, this.dialect);
    if ("refused" in result) return false;
    for (const edit of result.edits)
      this.edits.push({ ...edit, newText: edit.newText.replace(QUOTED_MARKER, () => code) });
    return true;
  }

  /** A statement of its own before the one that a call stands in; false where that place cannot be found. */
  before(call: PythonCall, statement: string): boolean {
    const { text } = this.document;
    if (!this.notebook) {
      const start = lineStart(text, call.start);
      const lead = text.slice(start, call.start);
      if (!/^[ \t]*(?:[\w.]+\s*=\s*)?$/.test(lead)) return false;
      this.edits.push({ start, end: start, newText: `${indentOf(text, call.start)}${statement}${eolOf(text)}` });
      return true;
    }
    const lead = /(?:"|\\n)((?:[\w.]+\s*=\s*)?)$/.exec(text.slice(Math.max(0, call.start - 200), call.start));
    if (lead === null) return false;
    const start = call.start - (lead[1]?.length ?? 0);
    this.edits.push({ start, end: start, newText: `${statement}\\n` });
    return true;
  }

  /** `from module import name`, before the first import of the module. */
  importing(module: string, names: readonly string[]): boolean {
    const missing = names.filter((name) => !this.imported.has(name));
    if (missing.length === 0) return true;
    const line = `from ${module} import ${missing.join(", ")}`;
    const { text } = this.document;
    const first = this.notebook
      ? /"(?=(?:import [\w.]+|from [\w.]+ import ))/.exec(text)
      : /^(?=(?:import [\w.]+|from (?!__future__)[\w.]+ import ))/m.exec(text);
    if (first === null) return false;
    const at = first.index + first[0].length;
    this.edits.push({ start: at, end: at, newText: line + (this.notebook ? "\\n" : eolOf(text)) });
    return true;
  }
}

function called(view: View, prefix: string, isMeant: (call: PythonCall) => boolean = () => true) {
  return view.calls?.findLast((one) => one.prefix === prefix && isMeant(one.call))?.call;
}

/** The variable that a call is given as its model. */
function modelName(call: PythonCall): string | undefined {
  const node = given(call, "model") ?? call.positional[0];
  return node?.kind === "unknown" && /^[A-Za-z_]\w*$/.test(node.raw) ? node.raw : undefined;
}

/**
 * Writes what no keyword that is there can say.
 * @param stated names of the settings that the document states
 */
export function constructed(
  document: ConfigDocument,
  view: View,
  stated: ReadonlySet<string>,
  changes: readonly SettingChange[],
  { libraries }: EditContext,
): Constructed {
  const value = (name: string) => changes.find((change) => change.name === name)?.value;
  const hasLora = called(view, "lora.", ({ callee }) => isLora(callee));
  const adapts = (value("use_peft") === true || value("adapter") === "lora") && !stated.has("adapter") && !hasLora;
  const bits = value("load_in_4bit") === true ? 4 : value("load_in_8bit") === true ? 8 : undefined;
  const loader = called(view, "load.");
  const configured = called(view, "bnb.") !== undefined || isUnsloth(loader?.callee ?? "");
  const quantizes = bits !== undefined && !stated.has("load_in_4bit") && !configured;
  if (!adapts && !quantizes) return { edits: [], rest: changes };
  const writing = new Writing(document);
  const trainer = called(view, "trainer.");
  if (quantizes && !quantized(writing, loader, bits, value("double_quantization") === true))
    return { refused: say("refused.no-load") };
  if (adapts && !adapted(writing, { trainer, changes, quantizes, libraries }))
    return { refused: say("refused.no-trainer") };
  const done = (name: string) => (adapts && ADAPTER.has(name)) || (quantizes && QUANTIZATION.has(name));
  return { edits: writing.edits, rest: changes.filter(({ name }) => !done(name)) };
}

/** `quantization_config=BitsAndBytesConfig(…)` (transformers/utils/quantization_config.py). */
function quantized(writing: Writing, loader: PythonCall | undefined, bits: 4 | 8, double: boolean): boolean {
  if (loader === undefined || keyword(loader, "quantization_config") !== undefined) return false;
  const options =
    bits === 8
      ? ["load_in_8bit=True"]
      : [
          "load_in_4bit=True",
          `bnb_4bit_quant_type=${writing.text("nf4")}`,
          ...(double ? ["bnb_4bit_use_double_quant=True"] : []),
          `bnb_4bit_compute_dtype=${writing.text("bfloat16")}`,
        ];
  return (
    writing.keyword(loader, "quantization_config", `BitsAndBytesConfig(${options.join(", ")})`) &&
    writing.importing("transformers", ["BitsAndBytesConfig"])
  );
}

interface Adapting {
  readonly trainer: PythonCall | undefined;
  readonly changes: readonly SettingChange[];
  readonly quantizes: boolean;
  readonly libraries: EditContext["libraries"];
}

/** TRL's trainers put the adapter on themselves; before the plain Trainer peft does. */
function adapted(writing: Writing, { trainer, changes, quantizes, libraries }: Adapting): boolean {
  if (trainer === undefined || keyword(trainer, "peft_config") !== undefined) return false;
  const options = LORA.flatMap(([name, argument]) => {
    const change = changes.find((one) => one.name === name);
    return change === undefined ? [] : [`${argument}=${writing.text(change.value)}`];
  });
  const lora = `LoraConfig(${options.join(", ")})`;
  if (takes(lastName(trainer.callee), "peft_config", libraries) === true)
    return writing.keyword(trainer, "peft_config", lora) && writing.importing("peft", ["LoraConfig"]);
  const model = modelName(trainer);
  if (model === undefined) return false;
  const base = quantizes ? `prepare_model_for_kbit_training(${model})` : model;
  const names = ["LoraConfig", "get_peft_model", ...(quantizes ? ["prepare_model_for_kbit_training"] : [])];
  return writing.before(trainer, `${model} = get_peft_model(${base}, ${lora})`) && writing.importing("peft", names);
}
