/** Leaf modules, whose forward their library wrote and no graph records. */

import { table } from "../../../terms/table";
import { say } from "../../../words/message";
import type { CallInstruction } from "../../graph/types";
import { activate } from "../activations";
import { NotModelled } from "../not-modelled";
import type { Argument } from "../ops/arguments";
import { convolution } from "../ops/convolution";
import { embedding } from "../ops/gathering";
import { view } from "../ops/layout";
import { addmmOperator, linear, productThenBias } from "../ops/linear";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import type { Context } from "./frame";
import type { Operands } from "./operands";

/** What a call says of its module, by name. */
type Attribute = (name: string) => Argument | undefined;

/** A module's own parameters. */
interface Own {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
}

type Leaf = (torch: Torch, input: Tensor, own: Own, attribute: Attribute) => Tensor;

/** What the instruction of a call says of its module. */
export function attributesOf(instruction: CallInstruction, operands: Operands, context: Context): Attribute {
  return (name) => {
    const operand = instruction.attrs?.[name];
    return operand === undefined ? undefined : operands.operand(operand, context);
  };
}

/** Steps of a convolution along each side. */
interface Geometry {
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

/** What a call says of a convolution's steps. */
export function geometryOf(attribute: Attribute): Geometry {
  const list = (name: string): number[] => {
    const value = attribute(name);
    return Array.isArray(value) ? value.map(Number) : typeof value === "number" ? [value, value] : [];
  };
  return { stride: list("stride"), padding: list("padding"), dilation: list("dilation") };
}

function linearLayer(torch: Torch, input: Tensor, { weight, bias }: Own, attribute: Attribute): Tensor {
  return attribute("apart") === true ? productThenBias(torch, input, weight, bias) : linear(torch, input, weight, bias);
}

/** transformers/pytorch_utils.py (Conv1D): a linear layer with its weight transposed, on rows. */
function conv1d(torch: Torch, input: Tensor, { weight, bias }: Own): Tensor {
  const flat = view(torch, input, [-1, input.size(-1)]);
  const product = addmmOperator(torch, bias!, flat, weight);
  flat.release();
  const out = view(torch, product, [...input.sizes.slice(0, -1), weight.size(1)]);
  product.release();
  return out;
}

function conv2d(torch: Torch, input: Tensor, { weight, bias }: Own, attribute: Attribute): Tensor {
  const { stride, padding, dilation } = geometryOf(attribute);
  return convolution(torch, input, weight, bias, [stride, padding, dilation]);
}

const LEAVES: Readonly<Record<string, Leaf>> = table({
  Linear: linearLayer,
  Conv1D: conv1d,
  Embedding: (torch, input, { weight }) => embedding(torch, weight, input),
  Conv2d: conv2d,
});

/** The forward of a leaf module as its library wrote it. */
export function leafForward(
  torch: Torch,
  { call, path }: { readonly call: string; readonly path: string },
  input: Tensor,
  own: { readonly weight: Tensor | undefined; readonly bias: Tensor | null },
  attribute: Attribute,
): Tensor {
  if (call === "Activation") {
    const name = attribute("fn");
    const out = activate(torch, String(name), input);
    if (out === null) throw new NotModelled(say("engine.activation", { name: String(name) }));
    return out;
  }
  const { weight, bias } = own;
  if (weight === undefined) throw new NotModelled(say("engine.no-weight", { path }));
  const leaf = LEAVES[call];
  if (leaf === undefined) throw new NotModelled(say("engine.module-kind", { kind: call }));
  return leaf(torch, input, { weight, bias }, attribute);
}
