/** Arguments that MONAI's networks have in common, and how they are told (monai/networks/layers/utils.py, split_args). */
import * as z from "zod/mini";
import type { Style, Told } from "./layers";

export const count = z.int().check(z.positive());
/** One number for all sides, or one for each. */
export const sizes = z.union([count, z.array(count).check(z.minLength(1), z.maxLength(3))]);

const named = z.union([z.string(), z.tuple([z.string(), z.record(z.string(), z.unknown())])]);
export const told = z.nullish(named);

/** Arguments of networks whose blocks are `Convolution`s. */
export const styled = {
  spatial_dims: z.int().check(z.minimum(2), z.maximum(3)),
  in_channels: count,
  out_channels: count,
  act: told,
  norm: told,
  dropout: z.optional(z.number().check(z.minimum(0), z.maximum(1))),
  bias: z._default(z.boolean(), true),
  adn_ordering: z._default(z.string().check(z.regex(/^[NDA]*$/)), "NDA"),
};

export function sidesOf(given: number | readonly number[], sides: number): readonly number[] {
  return typeof given === "number" ? Array.from({ length: sides }, () => given) : given;
}

/** A layer by its name and options; what is not said has the default, `null` is none. */
export function toldOf(
  given: z.infer<typeof told>,
  standard: string | readonly [string, Told["options"]],
): Told | null {
  const said = given === undefined ? standard : given;
  if (said === null) return null;
  const [name, options] = typeof said === "string" ? [said, {}] : said;
  return { name: name.toLowerCase(), options };
}

interface Styled {
  readonly act?: z.infer<typeof told>;
  readonly norm?: z.infer<typeof told>;
  readonly dropout?: number | undefined;
  readonly bias: boolean;
  readonly adn_ordering: string;
}

export function styleOf(given: Styled, act: string): Style {
  return {
    act: toldOf(given.act, act),
    norm: toldOf(given.norm, "instance"),
    dropout: given.dropout ?? 0,
    bias: given.bias,
    order: given.adn_ordering,
  };
}
