/** Runs a loss that a script wrote itself: its names hold what they are bound to until the function returns, as Python's do. */
import type {
  LossExpression,
  LossFunction,
  LossIndex,
  LossStatement,
  OwnLoss,
  OwnModule,
} from "../../../terms/own-loss";
import { isTensor } from "../../engine/ops/arithmetic";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { namedTensors, namesPart, partOf, partsBehind } from "./batch";
import { computed, dotted } from "./expressions";
import { binary, functionNamed, type Given, LOSS_MODULES, operator, signed } from "./functions";
import { runLayers } from "./layers";
import { sliced } from "./slices";
import { bounded, held, Inputs, letGo, Named, NotFollowed, numberOf, Outputs, tensorOf, type Value } from "./values";

/** What the function's calls of models run. */
export interface CalledByLoss {
  /** The trained model. */
  readonly model: (inputs: Inputs, options: ReadonlyMap<string, Value>) => Outputs;
  /** Another one beside it; null: there is none. */
  readonly other: ((inputs: Inputs, options: ReadonlyMap<string, Value>) => Outputs) | null;
  /** A weight of the trained model by its name. */
  readonly weight: (name: string) => Tensor | undefined;
  /** Runs a module of the script's own as the trainer wraps it; what it gives is owned. */
  readonly wrapped: (run: () => Value) => Value;
  /** Names of what forwards are given without names, in their order. */
  readonly inputs: readonly string[];
}

/** Parts of outputs by their places in a tuple; those of a batch have none. */
function placesOf(object: Inputs | Outputs): readonly string[] {
  return object instanceof Outputs ? [...object.parts.keys()] : [];
}

/** How many classes or words the model tells apart, as scripts ask for it. */
const CLASSES = /(?:^|\.)(?:num_labels|vocab_size|num_classes|n_classes)$/;
const WITHOUT_GRADIENTS = /^torch\.(?:no_grad|inference_mode|autograd\.no_grad)$/;
const AUTOCASTS = /autocast$/;
/** Functions of a script inside one another. */
const DEEPEST = 8;
/** The trained model by names of the trainer's. */
const TRAINED = /^self\.(?:model|\w{0,20}student\w{0,20})$/;
/** Where tensors are put, which is the one device here. */
const DEVICE = "torch.device";
/** Classes of what models give. */
const OUTPUTS = /^transformers\.(?:\w+\.)*\w{0,60}Output\w{0,60}$/;
/** What is called for what it says. */
const TELLS = /^(?:print|self\.log|logger\.\w{1,20}|logging\.\w{1,20}|wandb\.log)$/;
/** Methods that change how a model runs. */
const MODES: ReadonlySet<string> = new Set(["eval", "train", "requires_grad_"]);
/** What models are given, and what others than the trained one are called. */
const READS = /^(?:input_ids|pixel_values|input_values|input_features|inputs_embeds)$/;
const OTHERS = /teacher|ref|model/i;

/**
 * @param inputs the batch, borrowed
 * @param asksOutputs whether the caller wants what the model gave, too (`return_outputs`, as evaluation does)
 * @returns the loss first, then the outputs, owned
 */
export function runOwnLoss(
  torch: Torch,
  loss: OwnLoss,
  inputs: ReadonlyMap<string, Tensor>,
  calls: CalledByLoss,
  asksOutputs: boolean,
): Tensor[] {
  const run = new Run(torch, loss, calls);
  const [model = "model", batch = "inputs", ...rest] = loss.parameters;
  run.bind(model, new Named("model"));
  run.bind(batch, new Inputs(new Map(inputs)));
  for (const name of rest) run.bind(name, name === "return_outputs" ? asksOutputs : new Named(name));
  const returned = run.body(loss.body);
  const named = loss.keepsNames === true ? namedTensors(run.values()) : [];
  run.end();
  const [first, outputs, ...others] = Array.isArray(returned) ? (returned as readonly Value[]) : [returned];
  for (const other of others) letGo(other);
  if (!asksOutputs) letGo(outputs);
  return [tensorOf(first), ...(asksOutputs ? partsBehind(outputs) : []), ...named];
}

type Call = Extract<LossExpression, { readonly call: LossExpression }>;

class Run {
  private names = new Map<string, Value>();
  /** Functions of the script that run inside one another. */
  private depth = 0;
  /** Classes of the logits that a model gave last. */
  private classes: number | null = null;
  /** Whether the script's own module runs. */
  private inModule = false;
  /** Names bound behind the first forward. */
  private bound = 0;

  constructor(
    private readonly torch: Torch,
    private readonly loss: OwnLoss,
    private readonly calls: CalledByLoss,
  ) {}

  bind(name: string, value: Value): void {
    const before = this.names.get(name);
    this.names.set(name, value);
    letGo(before);
    // By the second name behind a forward, what the round before had bound to such names is gone.
    if (this.depth > 0) return;
    if (this.loss.keepsNames === true && this.classes !== null && ++this.bound === 2) this.torch.rebinds?.();
  }

  values(): Iterable<Value> {
    return this.names.values();
  }

  end(): void {
    for (const value of this.names.values()) letGo(value);
    this.names.clear();
  }

  /** Runs statements; what is returned, owned, or undefined. */
  body(statements: readonly LossStatement[]): Value | undefined {
    for (const statement of statements) {
      const returned = this.statement(statement);
      if (returned !== undefined) return returned;
    }
    return undefined;
  }

  private statement(statement: LossStatement): Value | undefined {
    if ("returned" in statement) return this.value(statement.returned);
    if ("forget" in statement) {
      letGo(this.names.get(statement.forget));
      this.names.delete(statement.forget);
      return undefined;
    }
    if ("when" in statement) return this.body(this.holds(statement.when) ? statement.body : statement.otherwise);
    if ("inside" in statement) return this.within(statement.inside, statement.body);
    const { names } = statement;
    const value = this.value(statement.value);
    const [only, ...more] = names;
    if (only === undefined) letGo(value);
    else if (more.length === 0) this.bind(only, value);
    else if (value instanceof Inputs)
      for (const name of names)
        this.bind(name, namesPart(value, name) ? partOf(value, name) : this.beside(value, name));
    else {
      if (!Array.isArray(value) || value.length !== names.length) throw new NotFollowed();
      for (const [k, name] of names.entries()) this.bind(name, value[k] as Value);
    }
    return undefined;
  }

  /** One of the batches that a loader gives beside each other: one that is shorter is another. */
  private beside(value: Inputs, name: string): Value {
    const { lengths = {} } = this.loss;
    const length = Object.hasOwn(lengths, name) ? lengths[name] : undefined;
    const isLonger = (tensor: Tensor): boolean => length !== undefined && tensor.rank === 2 && tensor.size(1) > length;
    if (length === undefined || ![...value.tensors.values()].some(isLonger)) return held(value);
    const cut = (tensor: Tensor): Tensor =>
      isLonger(tensor) ? this.torch.empty("zeros", [tensor.size(0), length], tensor.dtype) : tensor.retain();
    return new Inputs(new Map([...value.tensors].map(([key, tensor]) => [key, cut(tensor)])), true);
  }

  private within(context: LossExpression, body: readonly LossStatement[]): Value | undefined {
    const name = "call" in context ? dotted(context.call) : null;
    const { torch } = this;
    const { gradEnabled, autocastEnabled } = torch;
    if (name !== null && WITHOUT_GRADIENTS.test(name)) torch.gradEnabled = false;
    else if (name !== null && AUTOCASTS.test(name) && torch.autocastDtype !== null) torch.autocastEnabled = true;
    else throw new NotFollowed();
    const returned = this.body(body);
    torch.gradEnabled = gradEnabled;
    if (autocastEnabled !== torch.autocastEnabled) torch.clearCastCache();
    torch.autocastEnabled = autocastEnabled;
    return returned;
  }

  private holds(test: LossExpression): boolean {
    if ("operator" in test) {
      const { operator: sign, left, right } = test;
      if (sign === "and") return this.holds(left) && this.holds(right);
      if (sign === "or") return this.holds(left) || this.holds(right);
      if (sign === "in" || sign === "not in") {
        const text = this.value(left);
        const within = this.value(right);
        if (typeof text !== "string" || !(within instanceof Inputs)) throw new NotFollowed();
        return within.tensors.has(text) === (sign === "in");
      }
      if (sign === "is" || sign === "is not") {
        const value = this.value(left);
        if (!("value" in right) || right.value !== null || value instanceof Named) throw new NotFollowed();
        letGo(value);
        return (value === null) === (sign === "is");
      }
    }
    if ("sign" in test && test.sign === "not") return !this.holds(test.operand);
    const value = this.value(test);
    letGo(value);
    if (typeof value !== "boolean" && typeof value !== "number" && value !== null) throw new NotFollowed();
    return Boolean(value);
  }

  /** A value, owned. */
  private value(expression: LossExpression): Value {
    if ("value" in expression) return "each" in expression ? this.each(expression) : expression.value;
    if ("name" in expression) return this.named(expression.name);
    if ("items" in expression) {
      const { keys } = expression;
      const items = bounded(expression.items.map((item) => this.value(item)));
      return keys === undefined || !Array.isArray(items) || !items.every(isTensor) || items.length === 0
        ? items
        : new Inputs(new Map(items.map((item, k) => [keys[k] ?? "", item])), true);
    }
    if ("call" in expression) return this.call(expression);
    if ("attribute" in expression) return this.attribute(expression);
    if ("at" in expression) return this.item(expression.of, expression.at);
    if ("test" in expression) return this.value(this.holds(expression.test) ? expression.yes : expression.no);
    if ("operator" in expression) {
      if (/^(?:in|not in|is|is not|and|or)$/.test(expression.operator)) return this.holds(expression);
      return this.consuming([this.scalar(expression.left), this.scalar(expression.right)], ([left, right]) =>
        binary(this.torch, expression.operator, left!, right!),
      );
    }
    if ("sign" in expression)
      return this.consuming([this.value(expression.operand)], ([operand]) =>
        signed(this.torch, expression.sign, operand!),
      );
    throw new NotFollowed();
  }

  /** Values of operators: numbers of the trainer's that nobody knows weigh nothing. */
  private scalar(expression: LossExpression): Value {
    const value = this.value(expression);
    return value instanceof Named && !/^torch\b/.test(value.path) ? 1 : value;
  }

  /** What is made of values that nothing names afterwards. */
  private consuming(values: readonly Value[], make: (values: readonly Value[]) => Value): Value {
    const made = computed(() => make(values));
    for (const value of values) letGo(value);
    return made;
  }

  private named(name: string): Value {
    const own = this.names.get(name);
    if (own !== undefined) return held(own);
    const outside = this.outside(name);
    return outside === undefined ? new Named(name) : this.value(outside);
  }

  /** What a name outside of the function is bound to. */
  private outside(name: string): LossExpression | undefined {
    const all = this.inModule ? (this.loss.module?.outside ?? {}) : this.loss.outside;
    return Object.hasOwn(all, name) ? all[name] : undefined;
  }

  private attribute({ of, attribute }: { readonly of: LossExpression; readonly attribute: string }): Value {
    const path = dotted({ of, attribute });
    if (path !== null && this.names.get(path.split(".", 1)[0] ?? "") === undefined) {
      const outside = this.outside(path);
      if (outside !== undefined) return this.value(outside);
    }
    if (path !== null && CLASSES.test(path) && this.classes !== null) return this.classes;
    return this.consuming([this.value(of)], ([object]) => {
      if (object instanceof Outputs) return this.part(object, attribute);
      if (object instanceof Inputs) return partOf(object, attribute);
      if (object instanceof Named) return new Named(`${object.path}.${attribute}`);
      if (!isTensor(object)) throw new NotFollowed();
      if (attribute === "shape") return [...object.sizes];
      if (attribute === "T") return operator(this.torch, "t", [object]);
      if (attribute === "device" || attribute === "dtype") return new Named(`torch.${object.dtype}`);
      throw new NotFollowed();
    });
  }

  private part(outputs: Outputs, name: string): Value {
    if (name === "hidden_states") return outputs.states.map((state) => state.retain());
    const tensor = outputs.parts.get(name);
    if (tensor === undefined) throw new NotFollowed();
    return tensor.retain();
  }

  private item(of: LossExpression, at: readonly LossIndex[]): Value {
    return this.consuming([this.value(of)], ([object]) => {
      const [first] = at;
      const index =
        at.length === 1 && typeof first === "object" && "index" in first ? this.value(first.index) : undefined;
      if (object instanceof Inputs || object instanceof Outputs) {
        const name = typeof index === "number" ? placesOf(object)[index] : index;
        if (typeof name !== "string") throw new NotFollowed();
        return object instanceof Outputs ? this.part(object, name) : partOf(object, name);
      }
      if (Array.isArray(object) && (typeof index === "number" || index === "loss"))
        return held(object.at(index === "loss" ? 0 : index) as Value);
      return sliced(this.torch, tensorOf(object), at, (one) => this.value(one));
    });
  }

  /** A batch with other tensors under its names. */
  private each(expression: Extract<LossExpression, { readonly each: LossExpression }>): Value {
    const over = this.value(expression.each);
    if (!(over instanceof Inputs)) throw new NotFollowed();
    const tensors = new Map<string, Tensor>();
    for (const [name, tensor] of over.tensors) {
      if (name === expression.without) continue;
      this.names.set(expression.item, tensor.retain());
      tensors.set(name, tensorOf(this.value(expression.value)));
      letGo(this.names.get(expression.item));
      this.names.delete(expression.item);
    }
    letGo(over);
    return new Inputs(tensors, true);
  }

  /** A function of the script: its names go when it returns. */
  private ofScript(own: LossFunction, expression: Call): Value {
    if (expression.args.length > own.parameters.length || this.depth >= DEEPEST) throw new NotFollowed();
    const given = new Map<string, Value>();
    for (const one of expression.spread) {
      const all = this.value(one);
      if (!(all instanceof Inputs)) throw new NotFollowed();
      for (const [name, tensor] of all.tensors) if (own.parameters.includes(name)) given.set(name, tensor.retain());
      letGo(all);
    }
    for (const [k, one] of expression.args.entries()) given.set(own.parameters[k] ?? "", this.value(one));
    for (const [name, one] of expression.keywords) given.set(name, this.value(one));
    for (const name of own.parameters) {
      if (given.has(name)) continue;
      const standard = own.defaults?.[name];
      if (standard === undefined) throw new NotFollowed();
      given.set(name, this.value(standard));
    }
    const outer = this.names;
    this.names = given;
    this.depth++;
    const returned = this.body(own.body);
    this.end();
    this.depth--;
    this.names = outer;
    return returned ?? null;
  }

  /** What a name of the script's own module calls there; undefined: nothing of its own. */
  private ofModule(expression: Call): Value | undefined {
    const { module } = this.loss;
    const path = module === undefined || !this.inModule ? null : dotted(expression.call);
    if (module === undefined || path === null) return undefined;
    if (path === module.body) return this.runs(this.calls.model, expression);
    const layers = module.layers.filter((layer) => layer.path === path || layer.path.startsWith(`${path}.`));
    if (layers.length === 0) return undefined;
    const [input, ...more] = this.given(expression).args;
    if (more.length > 0) throw new NotFollowed();
    const made = computed(() => runLayers(this.torch, layers, this.calls.weight, tensorOf(input)));
    letGo(input);
    if (layers.at(-1)?.kind === "Linear") this.classes = tensorOf(made).sizes.at(-1) ?? null;
    return made;
  }

  /** The forward of the script's own module. */
  private wholeModule(module: OwnModule, expression: Call): Value {
    if (this.inModule) throw new NotFollowed();
    const made = this.calls.wrapped(() => {
      this.inModule = true;
      const value = this.ofScript(module.forward, expression);
      this.inModule = false;
      return value;
    });
    this.torch.logits = true;
    return made;
  }

  private call(expression: Call): Value {
    const { call } = expression;
    const ofModule = this.ofModule(expression);
    if (ofModule !== undefined) return ofModule;
    if ("attribute" in call) {
      if ("call" in call.of && dotted(call.of.call) === "super") return this.trainers(call.attribute, expression);
      const object = this.value(call.of);
      if (!(object instanceof Named)) return this.method(object, call.attribute, expression);
    }
    const callee = this.value(call);
    if (!(callee instanceof Named)) throw new NotFollowed();
    const last = callee.path.split(".").at(-1) ?? "";
    const functions = { ...this.loss.functions, ...this.loss.module?.functions };
    const own = Object.hasOwn(functions, callee.path) ? functions[callee.path] : undefined;
    if (own !== undefined) return this.ofScript(own, expression);
    const { module } = this.loss;
    if (callee.path === "model" || TRAINED.test(callee.path))
      return module === undefined ? this.runs(this.calls.model, expression) : this.wholeModule(module, expression);
    if (OUTPUTS.test(callee.path)) return this.outputs(expression);
    if (TELLS.test(callee.path) || MODES.has(last)) {
      for (const one of expression.args) letGo(this.value(one));
      return null;
    }
    if (callee.path === DEVICE) return new Named(DEVICE);
    if (callee.path === "isinstance") return this.isInstance(expression.args);
    if (/^torch\b/.test(callee.path)) {
      const given = this.given(expression);
      if (callee.keywords.size > 0 || callee.path.endsWith("()")) {
        // What a module's class was given stands behind what its call is.
        const all = new Map([...callee.keywords, ...given.keywords]);
        return this.applied(LOSS_MODULES[last.replace("()", "")] ?? "", { ...given, keywords: all });
      }
      if (Object.hasOwn(LOSS_MODULES, last)) return new Named(`${callee.path}()`, given.keywords);
      return this.applied(last, given);
    }
    const reads = expression.spread.length > 0 || expression.keywords.some(([name]) => READS.test(name));
    if (this.calls.other !== null && (reads || OTHERS.test(last))) return this.runs(this.calls.other, expression);
    throw new NotFollowed();
  }

  /** What a forward of the script's own gives by name (transformers/modeling_outputs.py); what is none is left out. */
  private outputs({ args, keywords, spread }: Call): Outputs {
    if (args.length > 0 || spread.length > 0) throw new NotFollowed();
    const parts = keywords.flatMap(([name, one]) => {
      const value = this.value(one);
      if (isTensor(value)) return [[name, value] as const];
      letGo(value);
      return [];
    });
    return new Outputs(new Map(parts));
  }

  /** The Trainer's own loss, as an overriding one calls it (transformers/trainer.py, `compute_loss`). */
  private trainers(name: string, { args, keywords }: Call): Value {
    const [model, inputs] = args;
    if (name !== "compute_loss" || model === undefined || inputs === undefined) throw new NotFollowed();
    const outputs = this.runs(this.calls.model, { call: model, args: [], keywords: [], spread: [inputs] });
    const loss = this.part(outputs, "loss");
    const both = keywords.some(([key, value]) => key === "return_outputs" && "value" in value && value.value === true);
    if (both) return [loss, outputs];
    letGo(outputs);
    return loss;
  }

  private isInstance([object, type]: readonly LossExpression[]): boolean {
    const value = object && this.value(object);
    letGo(value);
    if (!(value instanceof Outputs) || type === undefined) throw new NotFollowed();
    const names = "items" in type ? type.items.map(dotted) : [dotted(type)];
    return names.includes("dict");
  }

  private given({ args, keywords, spread }: Call): Given {
    if (spread.length > 0) throw new NotFollowed();
    return {
      args: args.map((one) => this.scalar(one)),
      keywords: new Map(keywords.map(([name, one]) => [name, this.scalar(one)])),
    };
  }

  /** A function of torch on values that nothing names afterwards. */
  private applied(name: string, given: Given): Value {
    const run = functionNamed(name);
    if (run === undefined) throw new NotFollowed();
    const made = computed(() => run(this.torch, given));
    for (const value of [...given.args, ...given.keywords.values()]) letGo(value);
    return made;
  }

  private method(object: Value, name: string, expression: Call) {
    const { args, keywords } = this.given(expression);
    if (object instanceof Inputs) {
      const [key] = args;
      if (name === "to" || name === "cuda") return object;
      if ((name !== "pop" && name !== "get") || typeof key !== "string") throw new NotFollowed();
      const tensor = object.tensors.get(key);
      if (name === "pop") object.tensors.delete(key);
      return tensor?.retain() ?? null;
    }
    return this.consuming([object], () => {
      if (object instanceof Outputs) {
        const [key] = args;
        if (name !== "get" || typeof key !== "string") throw new NotFollowed();
        return this.part(object, key);
      }
      const tensor = tensorOf(object);
      if (name === "size") return args.length === 0 ? [...tensor.sizes] : tensor.size(numberOf(args[0]));
      if (name === "dim") return tensor.rank;
      if (name === "numel") return tensor.elements;
      if (name === "item") return 1;
      return this.applied(name, { args: [tensor.retain(), ...args], keywords });
    });
  }

  /** A model's forward on what the call gives it. */
  private runs(model: CalledByLoss["model"], { args, keywords, spread }: Call): Outputs {
    const tensors = new Map<string, Tensor>();
    const options = new Map<string, Value>();
    const given: Value[] = [];
    for (const one of spread) {
      const all = this.value(one);
      if (!(all instanceof Inputs)) throw new NotFollowed();
      for (const [name, tensor] of all.tensors) tensors.set(name, tensor);
      given.push(all);
    }
    for (const [k, one] of args.entries()) {
      const name = this.calls.inputs[k];
      if (name === undefined) throw new NotFollowed();
      const tensor = tensorOf(this.value(one));
      tensors.set(name, tensor);
      given.push(tensor);
    }
    for (const [name, one] of keywords) {
      const value = this.value(one);
      if (isTensor(value)) tensors.set(name, value);
      else options.set(name, value);
      given.push(value);
    }
    const outputs = model(new Inputs(tensors), options);
    for (const value of given) letGo(value);
    this.classes = outputs.parts.get("logits")?.sizes.at(-1) ?? this.classes;
    return outputs;
  }
}
