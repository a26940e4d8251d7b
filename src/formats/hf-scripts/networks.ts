/**
 * Networks that a script takes from a library by name: `torchvision.models.resnet50()`, `timm.create_model("resnet50")`, with
 * the classes of their head. The side of their pictures is any script's (`pictures.ts`).
 */
import type { LocatedNode, PythonCall, PythonModule, Span } from "../../syntax/tree";
import { networkName } from "../timm/names";
import type { LocatedSetting, SettingName } from "../types";
import { plain, qualified } from "./called";
import { monaiCall, monaiSettings } from "./monai";

/** `models.resnet50(…)`: a function of torchvision.models in lower case; `get_model` and its like take the name. */
const NETWORK = /^(?:(.*)\.)?([a-z]\w*)$/;
const TORCHVISION = /^torchvision\.models(?:\.(?!__)|$)/;
const BY_NAME = new Set(["get_model", "create_model"]);
/** Functions of `torchvision.models` that make no network. */
const NO_NETWORK = new Set(["list_models", "get_weight", "get_model_weights", "get_model_builder"]);

const HEAD = /\.(?:fc|classifier|head|heads|last_linear)(?:\b|$)/;
const LINEAR = /(?:^|\.)Linear$/;

/** A network by the library's name and its own. */
interface Named {
  readonly name: string;
  readonly call: PythonCall;
  readonly at: Span;
}

function keyword(call: PythonCall, ...names: readonly string[]): LocatedNode | undefined {
  return call.keywords.entries.find(({ key }) => names.includes(key))?.value;
}

function networkOf(call: PythonCall, python: PythonModule): Named | undefined {
  const [, owner = "", name = ""] = NETWORK.exec(qualified(call.callee, python)) ?? [];
  const library = /^timm(?:\.|$)/.test(owner) ? "timm" : TORCHVISION.test(owner) ? "torchvision" : undefined;
  if (library === undefined) return undefined;
  const given = call.positional[0] ?? keyword(call, "name", "model_name");
  const said = plain(given);
  if (BY_NAME.has(name))
    return typeof said === "string" && given !== undefined
      ? { name: `${library}/${networkName(said)}`, call, at: { start: given.start, end: given.end } }
      : undefined;
  return library === "torchvision" && !NO_NETWORK.has(name)
    ? { name: `torchvision/${name}`, call, at: call.calleeSpan }
    : undefined;
}

function setting(name: SettingName, key: string, value: string | number, at: Span, node?: LocatedNode): LocatedSetting {
  const said: LocatedNode = node ?? { kind: "scalar", value, raw: String(value), ...at };
  return { name, key, value, node: said, keySpan: at, valueSpan: { start: said.start, end: said.end } };
}

/** Classes: of the head that is put in place of the network's own, else what its call says. */
function classesOf({ call }: Named, { assignments, calls }: PythonModule): readonly LocatedSetting[] {
  const heads = assignments.entries.filter(({ key }) => HEAD.test(key));
  const made = heads.flatMap(({ value }) =>
    calls.filter(({ callee, start, end }) => LINEAR.test(callee) && value.start <= start && end <= value.end),
  );
  const node =
    made.map((one) => one.positional[1] ?? keyword(one, "out_features")).at(-1) ?? keyword(call, "num_classes");
  const count = plain(node);
  return typeof count === "number" && Number.isSafeInteger(count) && count > 0 && node !== undefined
    ? [setting("num_labels", "num_classes", count, { start: node.start, end: node.end }, node)]
    : [];
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
  return [setting("model", network.call.callee, network.name, network.at), ...classesOf(network, python)];
}
