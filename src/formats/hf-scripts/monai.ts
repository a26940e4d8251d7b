/**
 * MONAI's networks in a script: the call that makes one, the loss it is trained with, and the patches that its transforms cut. Sources:
 * monai/networks/nets, monai/losses, monai/transforms/{spatial,croppad}/dictionary.py (MONAI 1.6).
 */
import type { Entry, LocatedNode, MapNode, PythonCall, PythonModule, Span } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, lastName, qualified, scalar } from "./called";

/** Networks, with their arguments in order as far as people give them without a name. */
const NETWORKS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    UNet: ["spatial_dims", "in_channels", "out_channels", "channels", "strides"],
    Unet: ["spatial_dims", "in_channels", "out_channels", "channels", "strides"],
    BasicUNet: ["spatial_dims", "in_channels", "out_channels", "features"],
    BasicUnet: ["spatial_dims", "in_channels", "out_channels", "features"],
    SegResNet: ["spatial_dims", "init_filters", "in_channels", "out_channels"],
    DynUNet: ["spatial_dims", "in_channels", "out_channels", "kernel_size", "strides", "upsample_kernel_size"],
    DynUnet: ["spatial_dims", "in_channels", "out_channels", "kernel_size", "strides", "upsample_kernel_size"],
  }),
);
const LOSSES: ReadonlySet<string> = new Set(["DiceLoss", "DiceCELoss", "DiceFocalLoss"]);

/** Transforms that leave patches of a size, the surest first: what crops at random is for training. */
const CUTS: readonly (readonly [transform: RegExp, size: readonly string[]])[] = [
  [/^RandCropBy(?:PosNegLabel|LabelClasses)d?$/, ["spatial_size"]],
  [/^RandWeightedCropd?$/, ["spatial_size"]],
  [/^RandSpatialCrop(?:Samples)?d?$/, ["roi_size"]],
  [/^CenterSpatialCropd?$/, ["roi_size"]],
  [/^ResizeWithPadOrCropd?$|^Resized?$/, ["spatial_size"]],
  [/^SpatialPadd?$/, ["spatial_size"]],
];
/** Patches of a picture where a transform that cuts several does not say (croppad/dictionary.py). */
const CUT_MANY = /^Rand(?:CropBy\w+|WeightedCrop|SpatialCropSamples)d?$/;

/** Sides of a picture where the call does not say, of networks that have a default. */
const DIMENSIONS = 3;

function isMonai(call: PythonCall, python: PythonModule, module: string): boolean {
  const whole = qualified(call.callee, python);
  return (
    whole.startsWith(`monai.${module}`) ||
    (whole === call.callee && python.imports.some((one) => one.startsWith("monai.")))
  );
}

/** The call that makes one of MONAI's networks. */
export function monaiCall(python: PythonModule): PythonCall | undefined {
  return python.calls.find((call) => NETWORKS.has(lastName(call.callee)) && isMonai(call, python, "networks"));
}

/** A member of an enumeration stands for its name (`Norm.BATCH`); what is not known is told as such. */
function settled(node: LocatedNode): LocatedNode {
  if (node.kind === "list") return { ...node, items: node.items.map(settled) };
  if (node.kind !== "unknown") return node;
  const { start, end, raw } = node;
  const member = /^(?:Norm|Act|Dropout)\.(\w+)$/.exec(raw)?.[1];
  const value: LocatedNode = { kind: "scalar", value: member ?? raw, raw, start, end };
  return member === undefined ? mapOf([entry("unknown", value, node)], node) : value;
}

function entry(key: string, value: LocatedNode, span: Span): Entry {
  return { key, keySpan: { start: span.start, end: span.end }, value };
}

function mapOf(entries: readonly Entry[], { start, end }: Span): MapNode {
  return { kind: "map", entries, start, end };
}

function argumentsOf(call: PythonCall, order: readonly string[]): MapNode {
  const placed = call.positional.flatMap((node, index) => {
    const name = order[index];
    return name === undefined ? [] : [entry(name, settled(node), node)];
  });
  const named = call.keywords.entries.map(({ key, keySpan, value }) => ({ key, keySpan, value: settled(value) }));
  return mapOf([...placed, ...named], call);
}

/** The size of the patches that a module's transforms leave, and how many of each picture. */
function patchOf({ calls }: PythonModule): { readonly size?: LocatedNode; readonly samples?: LocatedNode } {
  for (const [pattern, names] of CUTS) {
    const call = calls.find(({ callee }) => pattern.test(lastName(callee)));
    if (call === undefined) continue;
    const size = given(call, ...names);
    const samples = CUT_MANY.test(lastName(call.callee)) ? given(call, "num_samples") : undefined;
    return { ...(size === undefined ? {} : { size }), ...(samples === undefined ? {} : { samples }) };
  }
  return {};
}

/** One number for all sides is a cube. */
function sidesOf(size: LocatedNode | undefined, dimensions: LocatedNode | undefined): LocatedNode | undefined {
  const count = dimensions?.kind === "scalar" ? Number(dimensions.value) : DIMENSIONS;
  if (size?.kind !== "scalar") return size;
  return { kind: "list", items: Array.from({ length: count }, () => size), start: size.start, end: size.end };
}

/** The model that a script makes of MONAI's network, its loss and its patches; nothing where it makes none. */
export function monaiSettings(python: PythonModule): readonly LocatedSetting[] {
  const call = monaiCall(python);
  if (call === undefined) return [];
  const name = lastName(call.callee);
  const told = argumentsOf(call, NETWORKS.get(name) ?? []);
  const criterion = python.calls.find((one) => LOSSES.has(lastName(one.callee)) && isMonai(one, python, "losses"));
  const { size, samples } = patchOf(python);
  const patch = sidesOf(size, told.entries.find(({ key }) => key === "spatial_dims")?.value);
  const loss =
    criterion &&
    mapOf(
      [entry("name", scalar(lastName(criterion.callee), criterion), criterion), ...argumentsOf(criterion, []).entries],
      criterion,
    );
  const config = mapOf(
    [
      entry("model_type", scalar("monai", call), call),
      entry("network", scalar(name, call), call),
      entry("arguments", told, call),
      ...(loss === undefined ? [] : [entry("loss", loss, loss)]),
      ...(patch === undefined ? [] : [entry("patch", settled(patch), patch)]),
      ...(samples === undefined ? [] : [entry("samples", settled(samples), samples)]),
    ],
    call,
  );
  const side = patch?.kind === "list" ? patch.items[0] : undefined;
  return [
    { ...at("model_config", call, call.callee), node: config },
    at("task", call, "image-segmentation"),
    ...(side?.kind === "scalar" && typeof side.value === "number" ? [at("image_size", call, side.value)] : []),
  ];
}
