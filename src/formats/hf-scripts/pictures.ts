/**
 * The side that a script brings its pictures to before the model sees them: what torchvision's or albumentations' last crop leaves,
 * else what they are resized to, else what the processor is told, else what the data set holds where nothing brings that to another
 * side. Source: torchvision/transforms/transforms.py (a number resizes the shorter side, a crop is a square),
 * transformers/image_processing_base.py (`size`, `crop_size` of `from_pretrained`).
 */
import type { LocatedNode, PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, plain, qualified } from "./called";
import { callsBefore } from "./training";

/** What training crops at random goes before what evaluation crops in the middle. */
const RANDOM_CROPS = /(?:^|\.)(?:RandomResizedCrop|RandomCrop|RandomSizedCrop)$/;
const CENTER_CROPS = /(?:^|\.)CenterCrop$/;
const RESIZES = /(?:^|\.)Resize$/;
const PROCESSORS = /(?:ImageProcessor(?:Fast)?|Processor|FeatureExtractor)\.from_pretrained$/;

/** What else brings pictures to a side that it does not say: presets of weights and of timm, padding, functions that a data set or a forward calls. */
const OTHER_SIDES =
  /(?:^|\.)(?:transforms|create_transform|resolve_data_config|interpolate|Upsample|Pad|resize|resized_crop|center_crop|pad)$/;

/** Sides of torchvision's data sets whose pictures have one (torchvision/datasets/{mnist,usps,cifar,svhn,eurosat,pcam,stl10}.py). */
const DATA_SETS: ReadonlyMap<string, number> = new Map([
  ["USPS", 16],
  ["MNIST", 28],
  ["FashionMNIST", 28],
  ["KMNIST", 28],
  ["QMNIST", 28],
  ["EMNIST", 28],
  ["CIFAR10", 32],
  ["CIFAR100", 32],
  ["SVHN", 32],
  ["EuroSAT", 64],
  ["PCAM", 96],
  ["STL10", 96],
]);
const OF_TORCHVISION = /^torchvision\.datasets\.(?:[a-z]\w*\.)?(\w+)$/;

/** The side of what a data set of torchvision's holds; FakeData makes it as it is told (torchvision/datasets/fakedata.py). */
function ofDataSet(call: PythonCall, python: PythonModule): number | undefined {
  const name = OF_TORCHVISION.exec(qualified(call.callee, python))?.[1] ?? "";
  if (name !== "FakeData") return DATA_SETS.get(name);
  const size = call.positional[1] ?? given(call, "image_size");
  return size?.kind === "list" ? sideOf(size.items.at(-1)) : undefined;
}

/** A side that is written as a number, a pair or a mapping; undefined: it is not known. */
function sideOf(node: LocatedNode | undefined): number | undefined {
  const one = node?.kind === "list" ? node.items[0] : node?.kind === "map" ? node.entries[0]?.value : node;
  const side = plain(one);
  return typeof side === "number" && side >= 1 ? side : undefined;
}

function ofTransform(call: PythonCall): number | undefined {
  return sideOf(call.positional[0] ?? given(call, "size") ?? given(call, "height"));
}

/** `image_size` where the script says it in numbers. */
export function pictureSide(python: PythonModule): readonly LocatedSetting[] {
  const before = callsBefore(python);
  const made: readonly (readonly [RegExp, (call: PythonCall) => number | undefined])[] = [
    [RANDOM_CROPS, ofTransform],
    [CENTER_CROPS, ofTransform],
    [RESIZES, ofTransform],
    [PROCESSORS, (call) => sideOf(given(call, "crop_size")) ?? sideOf(given(call, "size"))],
  ];
  for (const [pattern, read] of made)
    for (const call of before.filter(({ callee }) => pattern.test(callee))) {
      const side = read(call);
      if (side !== undefined) return [at("image_size", call, side)];
    }
  const changes = [OTHER_SIDES, ...made.map(([pattern]) => pattern)];
  if (python.calls.some(({ callee }) => changes.some((pattern) => pattern.test(callee)))) return [];
  for (const call of before) {
    const side = ofDataSet(call, python);
    if (side !== undefined) return [at("image_size", call, side)];
  }
  return [];
}
