/**
 * A network's graphs with modules of a script's own in the place of some of theirs: what ran in a module goes, and the layers run there
 * instead, each on what the one before gives (torch/nn/modules/container.py, `Sequential.forward`, which lets go of its input then).
 */
import { ACTIVATIONS, type LayerSize, type OwnLayer } from "../../terms/own-loss";
import type { ReplacedModule } from "../../terms/replaced-module";
import { bareName, madeBy, outsideNames } from "./reads";
import type {
  ArchitectureGraph,
  BatchTensor,
  Expression,
  FamilyGraphs,
  GraphFunction,
  Instruction,
  Operand,
  TensorSpec,
} from "./types";

/** Sizes of another module that a script names (`model.fc.in_features`), by the dimension of its weight. */
const NAMED_SIZES: ReadonlyMap<string, number> = new Map([
  ["out_features", 0],
  ["in_features", 1],
  ["out_channels", 0],
  ["in_channels", 1],
]);

export interface WithReplaced {
  readonly graphs: FamilyGraphs;
  /** Keys of the modules that stand in them now; others are none of theirs, or do what is not followed. */
  readonly replaced: ReadonlySet<string>;
}

/** The family's graphs with the modules that could be put in place, each of them in all graphs that have it. */
export function withReplaced(family: FamilyGraphs, modules: readonly ReplacedModule[]): WithReplaced {
  let { graphs } = family;
  const replaced = new Set<string>();
  for (const module of modules) {
    const having = graphs.filter((graph) => has(graph, module.path));
    const changed = new Map(having.map((graph) => [graph, replacedIn(graph, module)]));
    if (having.length === 0 || [...changed.values()].includes(undefined)) continue;
    graphs = graphs.map((graph) => changed.get(graph) ?? graph);
    replaced.add(module.key);
  }
  // What runs have alike is of the graphs that it was made of.
  const { kept: _, ...rest } = family;
  return { graphs: replaced.size === 0 ? family : { ...rest, graphs }, replaced };
}

const isWithin = (path: string, module: string): boolean => path === module || path.startsWith(`${module}.`);

/** The module that each instruction of a function stands in. */
function modulesOf({ body }: GraphFunction): readonly string[] {
  let current = "";
  return body.map((one) => {
    if ("scope" in one) current = one.scope;
    if ("call" in one) return one.path;
    return current;
  });
}

const has = ({ main }: ArchitectureGraph, path: string): boolean =>
  modulesOf(main).some((module) => isWithin(module, path));

function replacedIn(graph: ArchitectureGraph, module: ReplacedModule): ArchitectureGraph | undefined {
  const { main, parameters, batch } = graph;
  const sizes = (size: LayerSize): Expression | undefined => sizeIn(size, parameters);
  const weights = module.layers.map((layer) => weightsOf(layer, sizes));
  const put = bodyWith(main, module);
  if (put === undefined || weights.includes(undefined)) return undefined;
  const own = weights.flatMap((one) => one ?? []);
  // A network that begins with this convolution is given pictures of its channels.
  const channels = module.layers[0]?.kind === "Conv2d" ? own[0]?.shape[1] : undefined;
  return {
    ...graph,
    parameters: [...parameters.filter(({ name }) => !isWithin(name, module.path)), ...own],
    buffers: graph.buffers.filter(({ name }) => !isWithin(name, module.path)),
    batch: batch.map((one) => (channels !== undefined && one.name === put.input ? withChannels(one, channels) : one)),
    main: { ...main, body: put.body },
  };
}

function withChannels(tensor: BatchTensor, channels: Expression): BatchTensor {
  return { ...tensor, shape: tensor.shape.map((size, k) => (k === 1 ? channels : size)) };
}

/** A size as an expression; undefined: it is of nothing that is known here. */
function sizeIn(size: LayerSize, parameters: readonly TensorSpec[]): Expression | undefined {
  if (typeof size === "number") return String(size);
  const end = size.config.lastIndexOf(".");
  const named = size.config.slice(0, Math.max(0, end));
  const dimension = NAMED_SIZES.get(size.config.slice(end + 1));
  if (dimension === undefined) return undefined;
  // The name of the model stands before that of the module.
  const ends = (name: string): boolean => `.${named}.weight`.endsWith(`.${name}`);
  const expression = parameters.find(({ name }) => ends(name))?.shape[dimension];
  return expression === undefined || size.times === 1 ? expression : `(${expression}) * ${size.times}`;
}

/** Weights of a layer, in float32 as torch makes them; undefined: a size of theirs, or the layer, is not known. */
function weightsOf(
  { kind, path, sizes, bias, options }: OwnLayer,
  sizeOf: (size: LayerSize) => Expression | undefined,
): readonly TensorSpec[] | undefined {
  if (kind === "Identity" || kind === "Dropout" || ACTIVATIONS.has(kind)) return [];
  const known = sizes.map(sizeOf);
  const [first, second] = known;
  if (first === undefined || known.includes(undefined)) return undefined;
  const spec = (name: string, shape: readonly Expression[]): TensorSpec => ({
    name: `${path}.${name}`,
    shape,
    dtype: "$float32",
    module: kind,
  });
  const biases = (size: Expression) => (bias ? [spec("bias", [size])] : []);
  if (kind === "Linear" && second !== undefined) return [spec("weight", [second, first]), ...biases(second)];
  if (kind === "Conv2d" && options !== undefined)
    return [
      spec(
        "weight",
        known.filter((one) => one !== undefined),
      ),
      ...biases(first),
    ];
  return undefined;
}

interface Put {
  readonly body: readonly Instruction[];
  /** The value that the first layer reads. */
  readonly input: string;
}

/** A function's body with the layers where the module ran; undefined: it ran several times, or gave and took more than one value. */
function bodyWith(main: GraphFunction, { path, layers }: ReplacedModule): Put | undefined {
  const modules = modulesOf(main);
  const from = modules.findIndex((module) => isWithin(module, path));
  const to = modules.findLastIndex((module) => isWithin(module, path)) + 1;
  const inside = main.body.slice(from, to);
  if (modules.slice(from, to).some((module) => !isWithin(module, path))) return undefined;
  const runs = inside.filter((one) => !("drop" in one));
  const made = new Set(runs.flatMap(madeBy));
  const [input, ...others] = [...outsideNames(runs)].filter((name) => !name.startsWith("@"));
  const output = runs.findLast((one) => madeBy(one).length > 0);
  const [last] = output === undefined ? [] : madeBy(output);
  if (input === undefined || last === undefined || others.length > 0 || made.has(input)) return undefined;
  const rest = main.body.slice(to);
  const read = new Set([...outsideNames(rest.filter((one) => !("drop" in one))), ...main.outputs.map(bareName)]);
  if ([...made].some((name) => name !== last && read.has(name))) return undefined;
  const dropped = inside.flatMap((one) => ("drop" in one ? one.drop.filter((name) => !made.has(bareName(name))) : []));
  const run = chained(layers, input, last);
  if (run === undefined) return undefined;
  const kept = rest.map((one) =>
    "drop" in one ? { drop: one.drop.filter((name) => !made.has(bareName(name)) || bareName(name) === last) } : one,
  );
  const drops = dropped.length === 0 ? [] : [{ drop: dropped }];
  // What comes behind a leaf is still of the module around it.
  const around = main.body.slice(0, from).findLast((one) => "scope" in one) ?? { scope: "" };
  const back = run.some((one) => "scope" in one) ? [around] : [];
  return { body: [...main.body.slice(0, from), ...run, ...drops, ...back, ...kept], input };
}

/** Layers one after another; undefined: one of them is not followed. */
function chained(layers: readonly OwnLayer[], input: string, output: string): readonly Instruction[] | undefined {
  const found: Instruction[] = [];
  let current = input;
  for (const [k, layer] of layers.entries()) {
    const isLast = k === layers.length - 1;
    const inPlace = ACTIVATIONS.get(layer.kind);
    if (inPlace !== undefined && layer.options?.[0] === 1) {
      found.push({ scope: layer.path }, { op: `${inPlace}_`, in: [`%${current}`], out: [current] });
      if (isLast) found.push({ op: "alias", in: [`%${current}`], out: [output] });
      if (isLast && current !== input) found.push({ drop: [current] });
      continue;
    }
    const next = isLast ? output : `${output}.${k}`;
    const run = layerRun(layer, `%${current}`, next);
    if (run === undefined) return undefined;
    found.push(...run, ...(current === input ? [] : [{ drop: [current] }]));
    current = next;
  }
  return layers.length === 0 ? undefined : found;
}

function layerRun({ kind, path, options = [] }: OwnLayer, input: Operand, out: string): Instruction[] | undefined {
  if (kind === "Linear") return [{ call: "Linear", path, in: [input], out: [out] }];
  if (kind === "Conv2d") {
    const [stride, padding, dilation, groups] = options;
    if (stride === undefined || padding === undefined || dilation === undefined || groups === undefined)
      return undefined;
    const both = (size: number): readonly number[] => [size, size];
    const attrs = { stride: both(stride), padding: both(padding), dilation: both(dilation), groups };
    return [{ call: "Conv2d", path, in: [input], attrs, out: [out] }];
  }
  const scope = { scope: path };
  if (kind === "Identity") return [scope, { op: "alias", in: [input], out: [out] }];
  if (kind === "Dropout") return [scope, { op: "dropout", in: [input, 0.5, true], out: [out] }];
  const operator = ACTIVATIONS.get(kind);
  return operator === undefined ? undefined : [scope, { op: operator, in: [input], out: [out] }];
}
