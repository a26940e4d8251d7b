/**
 * The side that a script brings its pictures to before the model sees them: what torchvision's or albumentations' last crop leaves,
 * else what they are resized to, else what the processor is told. Source: torchvision/transforms/transforms.py (a number resizes the
 * shorter side, a crop is a square), transformers/image_processing_base.py (`size`, `crop_size` of `from_pretrained`).
 */
import type { LocatedNode, PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, plain } from "./called";
import { callsBefore } from "./training";

/** What training crops at random goes before what evaluation crops in the middle. */
const RANDOM_CROPS = /(?:^|\.)(?:RandomResizedCrop|RandomCrop|RandomSizedCrop)$/;
const CENTER_CROPS = /(?:^|\.)CenterCrop$/;
const RESIZES = /(?:^|\.)Resize$/;
const PROCESSORS = /(?:ImageProcessor(?:Fast)?|Processor|FeatureExtractor)\.from_pretrained$/;

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
  return [];
}
