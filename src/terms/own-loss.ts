/** A loss that a script writes itself, as a tree: what its function does with the models it calls, name by name. */

/** A value in the function. Names are those of the script; what they are bound to outside of it stands in `OwnLoss.outside`. */
export type LossExpression =
  | { readonly name: string }
  | { readonly value: number | string | boolean | null }
  | { readonly of: LossExpression; readonly attribute: string }
  | { readonly of: LossExpression; readonly at: readonly LossIndex[] }
  | {
      /** The function by its full name (`torch.nn.functional.kl_div`), or what is called. */
      readonly call: LossExpression;
      readonly args: readonly LossExpression[];
      readonly keywords: readonly (readonly [string, LossExpression])[];
      /** `**inputs` */
      readonly spread: readonly LossExpression[];
    }
  | { readonly operator: string; readonly left: LossExpression; readonly right: LossExpression }
  | { readonly sign: string; readonly operand: LossExpression }
  | {
      readonly items: readonly LossExpression[];
      /** Of a dictionary, where all are written out. */
      readonly keys?: readonly string[];
    }
  | { readonly test: LossExpression; readonly yes: LossExpression; readonly no: LossExpression }
  /** `{key: value for key, item in of.items() if key != without}` */
  | {
      readonly each: LossExpression;
      readonly key: string;
      readonly item: string;
      readonly value: LossExpression;
      readonly without: string | null;
    }
  /** `[head(x) for head in self.heads]` */
  | {
      readonly listed: LossExpression;
      readonly names: readonly string[];
      readonly over: LossExpression;
    };

export type LossIndex =
  | { readonly index: LossExpression }
  | { readonly from: LossExpression | null; readonly to: LossExpression | null }
  | "...";

export type LossStatement =
  | { readonly names: readonly string[]; readonly value: LossExpression }
  | { readonly forget: string }
  | { readonly returned: LossExpression }
  | { readonly inside: LossExpression; readonly body: readonly LossStatement[] }
  /** `for name, … in over:` */
  | { readonly each: readonly string[]; readonly over: LossExpression; readonly body: readonly LossStatement[] }
  | {
      readonly when: LossExpression;
      readonly body: readonly LossStatement[];
      readonly otherwise: readonly LossStatement[];
    };

export interface LossFunction {
  /** Parameters behind `self`, in their order. */
  readonly parameters: readonly string[];
  /** What parameters stand for that a call leaves out. */
  readonly defaults?: Readonly<Record<string, LossExpression>>;
  readonly body: readonly LossStatement[];
}

/** A number, or one of the loaded model's config, so many times. */
export type LayerSize = number | { readonly config: string; readonly times: number };

/** Modules that compute one function of every value, by the operator that each calls (torch/nn/modules/activation.py). */
export const ACTIVATIONS: ReadonlyMap<string, string> = new Map([
  ["ReLU", "relu"],
  ["LeakyReLU", "leaky_relu"],
  ["GELU", "gelu"],
  ["Tanh", "tanh"],
  ["Sigmoid", "sigmoid"],
  ["SiLU", "silu"],
]);

/** A layer of torch's that a module of the script's own has, or a weight by itself. */
export interface OwnLayer {
  /** As the module calls it: `self.classifier`, `self.head.0`. */
  readonly path: string;
  /** The class's name: `Linear`, `Embedding`, `LayerNorm`, `Dropout`, `Identity`, an activation, or `Parameter`. */
  readonly kind: string;
  readonly sizes: readonly LayerSize[];
  readonly bias: boolean;
  /**
   * What else its operator takes behind weight and bias, in its order: a convolution's stride, padding, dilation and groups; 1 for
   * an activation that computes in place.
   */
  readonly options?: readonly number[];
}

/** Modules that load no model: layers of torch's by what calls them, and classes of the script's own. */
export interface OwnParts {
  /** Their layers, each by the whole way to it: `self.head.net.0`, `head.net.0`. */
  readonly layers: readonly OwnLayer[];
  /** What those compute that are classes of the script's own, by the ways to them; others are their layers one after another. */
  readonly forwards?: Readonly<Record<string, LossFunction>>;
  /** Names of what stands in modules that hold others for loops over them (`ModuleList`, `ModuleDict`), by the ways to them. */
  readonly lists?: Readonly<Record<string, readonly string[]>>;
}

/** A module of the script's own around a model that it loads. */
export interface OwnModule extends OwnParts {
  /** What it calls the loaded model: `self.backbone`. */
  readonly body: string;
  /** That gives its states between the layers at every call (`output_hidden_states=True` where it is loaded, which its config keeps). */
  readonly keepsStates?: true;
  readonly forward: LossFunction;
  /** What names outside of its forward are bound to, as a loss has them. */
  readonly outside: Readonly<Record<string, LossExpression>>;
  /** Functions and methods of the script that its forward calls. */
  readonly functions?: Readonly<Record<string, LossFunction>>;
}

export interface OwnLoss extends LossFunction {
  /** The trained model is a module of the script's own. */
  readonly module?: OwnModule;
  /** Modules that a loop calls beside the model. */
  readonly beside?: OwnParts;
  /** What names outside of the function are bound to, where that is written out (`self.loss_fct`, a module's own name). */
  readonly outside: Readonly<Record<string, LossExpression>>;
  /** Functions of the script that it calls, by their names. */
  readonly functions?: Readonly<Record<string, LossFunction>>;
  /** Tokens of batches that a loader gives beside each other, by their names, where they are not the same. */
  readonly lengths?: Readonly<Record<string, number>>;
  /** Its names stay until they are bound again: it is a round of a loop. */
  readonly keepsNames?: true;
  /** Names that the loop itself binds anew before the next round. */
  readonly targets?: readonly string[];
  /** What the round does with its names behind the gradients, as far as it is read. */
  readonly behind?: readonly LossStatement[];
}
