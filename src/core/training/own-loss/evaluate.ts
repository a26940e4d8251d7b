/** Runs a loss that a script wrote itself: what its calls give. */
import type { LossExpression, OwnLoss, OwnModule } from "../../../terms/own-loss";
import { isTensor } from "../../engine/ops/arithmetic";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { partsBehind, tensorsIn } from "./batch";
import type { Given } from "./calling";
import { computed, dotted } from "./expressions";
import { functionNamed, LOSS_MODULES } from "./functions";
import { runLayers } from "./layers";
import { OF_LISTS, ofModules } from "./lists";
import { type Call, Statements } from "./statements";
import { Inputs, letGo, Named, NotFollowed, numberOf, Outputs, Part, tensorOf, type Value } from "./values";

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

/** What is called of a batch as a whole; other methods are those of a tensor that stands beside others. */
const OF_BATCH: ReadonlySet<string> = new Set([
  "to",
  "cuda",
  "pop",
  "get",
  "items",
  "keys",
  "values",
  "copy",
  "update",
]);

/** What one tensor of a loader that gives several beside each other (`anchor, positive, negative`) is to a forward, borrowed. */
function alone({ tensors }: Inputs, name: string): Tensor {
  const [main] = tensors.values();
  const tensor = tensors.get(name) ?? main;
  if (tensor === undefined) throw new NotFollowed();
  return tensor;
}

/** What names hold when a round is over, owned by the caller. */
export type LeftByNames = readonly (readonly [name: string, tensor: Tensor])[];

/** A loss that was run. */
export interface OwnLossRun {
  /** The loss first, then the outputs, owned. */
  readonly results: Tensor[];
  /** Does what stands behind the gradients, and gives what names hold then; undefined: they are gone already. */
  readonly left?: () => LeftByNames;
}

/**
 * @param inputs the batch, borrowed
 * @param asksOutputs whether the caller wants what the model gave, too (`return_outputs`, as evaluation does)
 */
export function runOwnLoss(
  torch: Torch,
  loss: OwnLoss,
  inputs: ReadonlyMap<string, Tensor>,
  calls: CalledByLoss,
  asksOutputs: boolean,
): OwnLossRun {
  const run = new Run(torch, loss, calls);
  const [model = "model", batch = "inputs", ...rest] = loss.parameters;
  run.bind(model, new Named("model"));
  run.bind(batch, new Inputs(new Map(inputs)));
  for (const name of rest) run.bind(name, name === "return_outputs" ? asksOutputs : new Named(name));
  const returned = run.body(loss.body);
  if (loss.keepsNames !== true) run.end();
  const [first, outputs, ...others] = Array.isArray(returned) ? (returned as readonly Value[]) : [returned];
  for (const other of others) letGo(other);
  if (!asksOutputs) letGo(outputs);
  const results = [tensorOf(first), ...(asksOutputs ? partsBehind(outputs) : [])];
  return loss.keepsNames === true ? { results, left: () => run.left(loss) } : { results };
}

class Run extends Statements {
  constructor(
    torch: Torch,
    loss: OwnLoss,
    private readonly calls: CalledByLoss,
  ) {
    super(torch, loss);
  }

  /** What the script calls by a name of its own module, or beside the model; undefined: nothing of its own. */
  private ofModule(expression: Call): Value | undefined {
    const path = this.ownPath(expression.call);
    return path === null ? undefined : this.runsPart(path, expression);
  }

  /** Runs what stands at the end of a way; undefined: nothing of the script's own does. */
  private runsPart(path: string, expression: Call): Value | undefined {
    const { module, beside } = this.loss;
    if (path === module?.body) return this.runs(this.calls.model, expression, module.keepsStates === true);
    const forwards = { ...module?.forwards, ...beside?.forwards };
    const forward = Object.hasOwn(forwards, path) ? forwards[path] : undefined;
    if (forward !== undefined) return this.ofScript(forward, expression, path);
    const all = [...(module?.layers ?? []), ...(beside?.layers ?? [])];
    const layers = all.filter((layer) => layer.path === path || layer.path.startsWith(`${path}.`));
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
    if (this.self !== null) throw new NotFollowed();
    const made = this.calls.wrapped(() => this.ofScript(module.forward, expression, "self"));
    this.torch.logits = true;
    return made;
  }

  /** What stands behind the gradients of a round, as far as it is followed, and what its names hold then. */
  left({ behind = [], targets = [] }: OwnLoss): LeftByNames {
    for (const statement of behind) this.tried(statement);
    const left = [...this.bindings()].flatMap(([name, value]) =>
      targets.includes(name) ? [] : tensorsIn(value).map((tensor) => [name, tensor] as const),
    );
    this.end();
    return left;
  }

  protected override ownWeight(path: string): Tensor | undefined {
    return this.calls.weight(path);
  }

  protected override modulesIn(path: string): Value | undefined {
    const lists = { ...this.loss.module?.lists, ...this.loss.beside?.lists };
    const names = Object.hasOwn(lists, path) ? lists[path] : undefined;
    return names?.map((name) => new Part(`${path}.${name}`));
  }

  protected override call(expression: Call): Value {
    const { call } = expression;
    const ofModule = this.ofModule(expression);
    if (ofModule !== undefined) return ofModule;
    if ("attribute" in call) {
      if ("call" in call.of && dotted(call.of.call) === "super") return this.trainers(call.attribute, expression);
      const object = this.value(call.of);
      if (!(object instanceof Named)) return this.method(object, call.attribute, expression);
    }
    const callee = this.value(call);
    if (callee instanceof Part) {
      const made = this.runsPart(callee.path, expression);
      if (made === undefined) throw new NotFollowed();
      return made;
    }
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
    const overLists = Object.hasOwn(OF_LISTS, callee.path) ? OF_LISTS[callee.path] : undefined;
    if (overLists !== undefined) return overLists(this.given(expression).args);
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

  private method(object: Value, name: string, expression: Call): Value {
    if (object instanceof Inputs && !OF_BATCH.has(name)) {
      const tensor = alone(object, "").retain();
      letGo(object);
      return this.method(tensor, name, expression);
    }
    const { args, keywords } = this.given(expression);
    const modules = ofModules(object, name);
    if (modules !== undefined) return modules;
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
  private runs(model: CalledByLoss["model"], { args, keywords, spread }: Call, keepsStates = false): Outputs {
    const tensors = new Map<string, Tensor>();
    const options = new Map<string, Value>(keepsStates ? [["output_hidden_states", true]] : []);
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
      const value = this.value(one);
      tensors.set(name, value instanceof Inputs ? alone(value, name) : tensorOf(value));
      given.push(value);
    }
    for (const [name, one] of keywords) {
      const value = this.value(one);
      if (isTensor(value)) tensors.set(name, value);
      else if (value instanceof Inputs) tensors.set(name, alone(value, name));
      else options.set(name, value);
      given.push(value);
    }
    const outputs = model(new Inputs(tensors), options);
    for (const value of given) letGo(value);
    this.classes = outputs.parts.get("logits")?.sizes.at(-1) ?? this.classes;
    return outputs;
  }
}
