/**
 * Networks that a script takes from a library by name: `torchvision.models.resnet50()`, `timm.create_model("resnet50")`, with
 * the classes of their head. The side of their pictures is any script's (`pictures.ts`).
 */
import type { PythonCall, PythonModule, Span } from "../../syntax/tree";
import { networkName } from "../timm/names";
import type { LocatedSetting } from "../types";
import { given, keyword, placed, plain, qualified, scalar, uncounted } from "./called";
import { monaiCall, monaiSettings } from "./monai";

/** `models.resnet50(…)`: a function of torchvision.models in lower case; `get_model` and its like take the name. */
const NETWORK = /^(?:(.*)\.)?([a-z]\w*)$/;
const TORCHVISION = /^torchvision\.models(?:\.(?!__)|$)/;
const BY_NAME = new Set(["get_model", "create_model"]);
/** Functions of `torchvision.models` that make no network. */
const NO_NETWORK = new Set(["list_models", "get_weight", "get_model_weights", "get_model_builder"]);

const HEAD = /\.(?:fc|classifier|head|heads|last_linear)(?:\b|$)/;
/** Shares of the ways around a block that are left out in training. */
const DROPS_PATHS = "drop_path_rate";
const LINEAR = /(?:^|\.)Linear$/;

/** A network by the library's name and its own. */
interface Named {
  readonly name: string;
  readonly call: PythonCall;
  readonly at: Span;
}

function networkOf(call: PythonCall, python: PythonModule): Named | undefined {
  const [, owner = "", name = ""] = NETWORK.exec(qualified(call.callee, python)) ?? [];
  const library = /^timm(?:\.|$)/.test(owner) ? "timm" : TORCHVISION.test(owner) ? "torchvision" : undefined;
  if (library === undefined) return undefined;
  const node = call.positional[0] ?? given(call, "name", "model_name");
  const said = plain(node);
  if (BY_NAME.has(name))
    return typeof said === "string" && node !== undefined
      ? { name: `${library}/${networkName(said)}`, call, at: { start: node.start, end: node.end } }
      : undefined;
  return library === "torchvision" && !NO_NETWORK.has(name)
    ? { name: `torchvision/${name}`, call, at: call.calleeSpan }
    : undefined;
}

/** Classes: of the head that is put in place of the network's own, else what its call says. */
function classesOf({ call }: Named, { assignments, calls }: PythonModule): readonly LocatedSetting[] {
  const heads = assignments.entries.filter(({ key }) => HEAD.test(key));
  const made = heads.flatMap(({ value }) =>
    calls.filter(({ callee, start, end }) => LINEAR.test(callee) && value.start <= start && end <= value.end),
  );
  const node = made.map((one) => one.positional[1] ?? given(one, "out_features")).at(-1) ?? given(call, "num_classes");
  const count = plain(node);
  return typeof count === "number" && Number.isSafeInteger(count) && count > 0 && node !== undefined
    ? [placed("num_labels", "num_classes", { start: node.start, end: node.end }, node, count)]
    : [];
}

/** Whether a name of a network with its value is a head that is read (`classesOf`). */
export function isReadHead(name: string, value: string, python: PythonModule): boolean {
  return HEAD.test(name) && /^(?:[\w.]{1,80}\.)?Linear\(/.test(value) && builtNetwork(python) !== undefined;
}

/** The call that makes a library's network; the first, which a later one for comparison does not replace. */
export function builtNetwork(python: PythonModule): PythonCall | undefined {
  return python.calls.find((call) => networkOf(call, python) !== undefined) ?? monaiCall(python);
}

/** What a script says of a network it takes from torchvision or timm; nothing where it takes none. */
export function networkSettings(python: PythonModule): readonly LocatedSetting[] {
  const call = builtNetwork(python);
  const network = call === undefined ? undefined : networkOf(call, python);
  if (network === undefined) return monaiSettings(python);
  const { name, at } = network;
  const drops = keyword(network.call, DROPS_PATHS);
  return [
    placed("model", network.call.callee, at, scalar(name, at), name),
    ...classesOf(network, python),
    // timm's graphs are those of its defaults, which leave no path out (timm/layers/drop.py: what is kept is scaled into a new tensor).
    ...(drops !== undefined && Number(plain(drops.value)) > 0
      ? [{ ...uncounted(DROPS_PATHS, drops.keySpan, drops.value), direction: "more" as const }]
      : []),
  ];
}
