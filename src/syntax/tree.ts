/**
 * The located tree every syntax gives: plain values with the place they were written at.
 * Offsets are UTF-16 code units into the document's text; `end` is exclusive.
 */

import type { OwnLayer, OwnLoss, OwnModule } from "../terms/own-loss";
import type { StepAction } from "../terms/step-actions";
import type { Bound } from "../terms/weights";
import type { Message } from "../words/message";

/** Half-open span of the text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface SyntaxProblem extends Span {
  readonly message: Message;
  /** Stable kind, e.g. `duplicate-key`, `syntax`, `too-deep`. */
  readonly code: string;
  /** Text that mends it in the place of the span. */
  readonly mend?: string;
}

interface NodeBase extends Span {}

export interface ScalarNode extends NodeBase {
  readonly kind: "scalar";
  /** The value as the format's own library would read it (YAML 1.1 for PyYAML: `no` is false, `5e8` is a string). */
  readonly value: string | number | boolean | null;
  /** The text as written, quotes included. */
  readonly raw: string;
  /**
   * Where the value is really written when that is elsewhere in the text: the anchor behind a YAML alias, the
   * assignment behind a shell variable or a Python name. Edits go there.
   */
  readonly source?: Span;
  /** The variable of a script that its own arguments may set otherwise; the value is what holds without them. */
  readonly standard?: string;
}

/** A value that cannot be known from the text: a template, an unresolved name, a call. */
export interface UnknownNode extends NodeBase {
  readonly kind: "unknown";
  readonly raw: string;
  /** The text as far as it is known, where `raw` is a variable that holds it. */
  readonly text?: string;
  readonly reason: Message;
  /** Where the expression stands that a Python name is bound to: the call that made its object, for one. */
  readonly source?: Span;
  /** What it may be, by conditions that are not known. */
  readonly alternatives?: readonly LocatedNode[];
}

export interface Entry {
  /** Its key is an expression whose value is not known: what is written stands for it. */
  readonly open?: true;
  readonly key: string;
  readonly keySpan: Span;
  readonly value: LocatedNode;
}

export interface MapNode extends NodeBase {
  readonly kind: "map";
  /** In document order; duplicates are kept (the last wins unless the format says otherwise). */
  readonly entries: readonly Entry[];
}

export interface ListNode extends NodeBase {
  readonly kind: "list";
  readonly items: readonly LocatedNode[];
}

export type LocatedNode = ScalarNode | UnknownNode | MapNode | ListNode;

/** A step from an object to a part of it. */
export type PythonStep =
  | { readonly kind: "attribute"; readonly name: string }
  /** Elements of a sequence, from the one up to before the other; negative ones count from the end, null: to the end. */
  | { readonly kind: "items"; readonly from: Bound; readonly to: Bound | null; readonly step?: number }
  /** Elements of a sequence by their indices, none twice. */
  | { readonly kind: "picked"; readonly at: readonly number[] }
  | { readonly kind: "call"; readonly name: string }
  /** What a loop gives one after another, and which of its names that is. */
  | { readonly kind: "each"; readonly element: number; readonly names: number }
  | { readonly kind: "unknown" };

/** The way from a name to a part of its object: `model.encoder.layers[:4]`, or the parameters that a loop goes over. */
export interface PythonPath {
  /** The name as written. */
  readonly root: string;
  readonly object: LocatedNode;
  readonly steps: readonly PythonStep[];
}

/** A condition that is not known before the run, as far as it asks what texts are. */
export type PythonTest =
  | { readonly kind: "and" | "or"; readonly tests: readonly PythonTest[] }
  | { readonly kind: "not"; readonly test: PythonTest }
  | {
      readonly kind: "text";
      /** The last three are of a regular expression: `re.search`, `re.match`, `re.fullmatch`. */
      readonly how: "contains" | "begins" | "ends" | "is" | "search" | "match" | "fullmatch";
      readonly text: string;
      readonly subject: PythonPath;
    }
  /** A number that counts the rounds of a loop over a sequence, by the rounds in which it holds. */
  | { readonly kind: "rounds"; readonly chosen: PythonStep; readonly over: PythonPath }
  /** `isinstance(m, nn.LayerNorm)`, by the last names of the classes. */
  | { readonly kind: "instance"; readonly classes: readonly string[]; readonly subject: PythonPath }
  | { readonly kind: "open"; readonly raw: string };

/** A condition that something depends on, and what it must be. */
export interface PythonGuard extends Span {
  readonly test: PythonTest;
  /** As written. */
  readonly raw: string;
  readonly holds: boolean;
  /** The `n` of a condition that holds in every nth round (`(step + 1) % n == 0`). */
  readonly every?: LocatedNode;
}

/** `model.lm_head.requires_grad = False`: an attribute of a part of an object is set. */
export interface PythonEffect extends Span {
  readonly path: PythonPath;
  /** Its name; of an item of a list, its number. */
  readonly attribute: string;
  /** Where it is an item of a list of modules (`model.classifier[6] = …`). */
  readonly item?: PythonStep;
  readonly value: LocatedNode;
  /** The value where it is a condition. */
  readonly test: PythonTest | null;
  /** The way to the value where it is a part of an object, or to the items that go (`del model.layers[8:]`). */
  readonly source: PythonPath | null;
  readonly deletes?: true;
  /** Layers of torch's that the value makes, by paths that begin with the attribute's. */
  readonly layers?: readonly OwnLayer[];
  readonly order: number;
  readonly guards: readonly PythonGuard[];
}

/** One call of a Python module, with its arguments as values. */
export interface PythonCall extends Span {
  /** Its place among what runs. */
  readonly order?: number;
  /** It stands in a function that nothing here calls. */
  readonly deferred?: true;
  /** Conditions it depends on that are not known. */
  readonly guards?: readonly PythonGuard[];
  /** The object whose method it is, and the way to it. */
  readonly receiver?: LocatedNode;
  readonly path?: PythonPath;
  /** The key that a written dictionary has its result under. */
  readonly key?: string;
  /** Dotted name as written, e.g. `torch.optim.AdamW`; the method alone when the receiver is an expression. */
  readonly callee: string;
  readonly calleeSpan: Span;
  readonly positional: readonly LocatedNode[];
  /** Keyword arguments; entries spread from a known dict are included, with their own places. */
  readonly keywords: MapNode;
}

/** One class of a Python module and the defaults its body gives to annotated fields. */
export interface PythonClass extends Span {
  readonly name: string;
  readonly bases: readonly string[];
  readonly fields: MapNode;
  /** Where its methods stand, by their names. */
  readonly methods: ReadonlyMap<string, Span>;
  /** The loss that it writes itself (`compute_loss`); null: it does, and not what is read. */
  readonly loss?: OwnLoss | null;
  /** A module around a model that it loads. */
  readonly module?: OwnModule;
}

/** A round of a loop of one's own, up to the call that takes the gradients. */
export interface PythonRound extends Span {
  /** It is a function of its own, whose names go when it returns. */
  readonly apart: boolean;
  /** What its loop counts over (`for micro in range(4)`), where that is known. */
  readonly counts?: ListNode;
  /** What it computes; null: something that is not read. */
  readonly loss: OwnLoss | null;
  /** What it does behind its first gradients; absent: it takes them once, or does what is not read. */
  readonly further?: readonly StepAction[];
}

/** Elements that are left out at one end of what a name holds. */
export interface PythonCut extends Span {
  readonly name: string;
  readonly first: number;
  readonly last: number;
}

/** A list of whole numbers, some of them several times over (`[101] + [5] * 510`). */
export interface PythonRepeat extends Span {
  readonly length: number;
  /** The key of a written dictionary that it stands under, by itself or in a list. */
  readonly key?: string;
  /** It stands in another list, as one of its rows. */
  readonly inList: boolean;
}

/** What can be known of a Python module without running it. */
export interface PythonModule {
  /** Ends that are cut off by whole numbers (`tokens[:-1]`). */
  readonly cuts?: readonly PythonCut[];
  readonly repeats?: readonly PythonRepeat[];
  readonly round?: PythonRound;
  /** Options that it gives its own parser as a list. */
  readonly written?: readonly Entry[];
  readonly calls: readonly PythonCall[];
  readonly classes: readonly PythonClass[];
  /** Module-level and local names bound to a value, in document order. */
  readonly assignments: MapNode;
  /** Attributes that are set, in the order they are. */
  readonly effects: readonly PythonEffect[];
  /** Dotted names that are imported (`transformers`, `trl.SFTConfig`). */
  readonly imports: readonly string[];
  /** Names that imports bind, with the dotted name that each stands for (`nn` for `torch.nn`). */
  readonly bound: ReadonlyMap<string, string>;
  /** Names of its functions. */
  readonly functions: ReadonlySet<string>;
  /** Functions of a model's outputs and labels by their names; null: what they do is not read. */
  readonly losses: ReadonlyMap<string, OwnLoss | null>;
  /** Paths of files of data that it reads values from (`yaml.safe_load(open("config.yaml"))`), as they are written. */
  readonly dataFiles: readonly string[];
  /** What is called where a result is taken apart into several names (`logits, loss = model(x)`). */
  readonly unpacked: readonly string[];
  /** Options of the program's command line with their defaults; one without a default is unknown. */
  readonly options: MapNode;
  /** Other names that options have on the command line (`-l` of `--lr`), without dashes, and the options' own. */
  readonly spellings: ReadonlyMap<string, string>;
}

/** One word of a shell command after expansion. */
export interface ShellWord {
  /** Scalar with the expanded text, or unknown when a part of it cannot be known. */
  readonly node: ScalarNode | UnknownNode;
  /** The text as the command receives it, unresolved parts as written. */
  readonly text: string;
}

/** One simple command of a script, with its arguments expanded as far as the script itself tells. */
export interface ShellCommand extends Span {
  readonly words: readonly ShellWord[];
  /** Environment of the command: exports before it and assignments in front of it. */
  readonly environment: MapNode;
  /** `--a=b`, `--a b`, `-a b`; keys without the leading dashes, otherwise as written. */
  readonly flags: MapNode;
  /** `key=value` and `+key=value` arguments (Hydra, OmegaConf). */
  readonly overrides: MapNode;
  /** Arguments that are neither; the program is the first. */
  readonly positional: readonly ShellWord[];
}

/** A shell script, Makefile, Slurm job or Dockerfile. */
/** Where the text of a file stands in a script that writes it. */
export interface WrittenText extends Span {
  /** Path of the file, as the script has it. */
  readonly path: string;
  /** Variables in it are not expanded. */
  readonly literal: boolean;
}

export interface ShellScript {
  readonly commands: readonly ShellCommand[];
  /** Variables as they are at the end of the script. */
  readonly variables: MapNode;
  /** `#SBATCH` options, keys without dashes; what a job's YAML asks of the cluster. */
  readonly directives: MapNode;
  /** Files that it writes by here-documents. */
  readonly written?: readonly WrittenText[];
  /** The command is a list of words in YAML: a shell's text cannot be added to it. */
  readonly sealed?: true;
}

/** Syntaxes the parsers know. */
export type SyntaxId = "json" | "yaml" | "toml" | "python" | "shell" | "notebook";

/** What a parser returns: always a result, never an exception. */
export interface ParsedDocument {
  /** null when nothing could be read. */
  readonly root: LocatedNode | null;
  readonly problems: readonly SyntaxProblem[];
  readonly syntax?: SyntaxId;
  /** Present for Python files and notebooks. */
  readonly python?: PythonModule;
  /** Present for shell-like files. */
  readonly shell?: ShellScript;
}

/** Minimal replacement of a span of the text. */
export interface SpanEdit extends Span {
  readonly newText: string;
}
