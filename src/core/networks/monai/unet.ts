/** MONAI's `UNet`: levels within levels, each beside the one below it (monai/networks/nets/unet.py, 1.6). */
import * as z from "zod/mini";
import type { GraphWriter } from "../writer";
import { isKnown, type Layer, Layers } from "./layers";
import { count, sidesOf, sizes, styled, styleOf } from "./options";

/** Arguments of `UNet.__init__`. */
const schema = z.object({
  ...styled,
  channels: z.array(count).check(z.minLength(2), z.maxLength(16)),
  strides: z.array(sizes),
  kernel_size: z._default(sizes, 3),
  up_kernel_size: z._default(sizes, 3),
  num_res_units: z._default(z.int(), 0),
});

class Writer {
  private readonly layers: Layers;
  private readonly kernel: readonly number[];
  private readonly upKernel: readonly number[];

  constructor(
    graph: GraphWriter,
    private readonly told: z.infer<typeof schema>,
  ) {
    const sides = told.spatial_dims;
    this.layers = new Layers(graph, sides, styleOf(told, "prelu"));
    this.kernel = sidesOf(told.kernel_size, sides);
    this.upKernel = sidesOf(told.up_kernel_size, sides);
  }

  /** `_create_block`. */
  level(path: string, at: number, from: number, to: number): Layer {
    const { channels, strides, spatial_dims: sides } = this.told;
    const own = channels[at] ?? 1;
    const stride = sidesOf(strides[at] ?? 1, sides);
    const down = this.down(`${path}.0`, from, own, stride);
    const last = at + 2 >= channels.length;
    const below = channels[at + 1] ?? 1;
    const inner = last
      ? this.down(`${path}.1.submodule`, own, below, sidesOf(1, sides))
      : this.level(`${path}.1.submodule`, at + 1, own, own);
    const up = this.up(`${path}.2`, own + (last ? below : own), to, stride, at === 0);
    return this.layers.sequence([down, this.beside(inner), up]);
  }

  /** `SkipConnection` that concatenates. */
  private beside(inner: Layer): Layer {
    const { graph } = this.layers;
    return (x) => {
      const below = inner(x);
      const out = graph.op("cat", [[x, below], 1]);
      graph.drop(below);
      return out;
    };
  }

  private down(path: string, from: number, to: number, stride: readonly number[]): Layer {
    const { kernel } = this;
    const units = this.told.num_res_units;
    const convolution = { from, to, kernel, stride };
    return units > 0 ? this.layers.residual(path, units, convolution) : this.layers.block(path, convolution);
  }

  private up(path: string, from: number, to: number, stride: readonly number[], top: boolean): Layer {
    const units = this.told.num_res_units;
    const raised = { from, to, kernel: this.upKernel, stride, transposed: true, alone: top && units === 0 };
    if (units === 0) return this.layers.block(path, raised);
    const raise = this.layers.block(`${path}.0`, raised);
    const same = { from: to, to, kernel: this.kernel, stride: sidesOf(1, this.told.spatial_dims) };
    return this.layers.sequence([raise, this.layers.residual(`${path}.1`, 1, same, top)]);
  }
}

/** Writes the network that the arguments make; null where they make none that is known. */
export function unet(graph: GraphWriter, given: unknown): Layer | null {
  const read = schema.safeParse(given);
  if (!read.success) return null;
  const { data: told } = read;
  const kernels = [told.kernel_size, told.up_kernel_size].flatMap((kernel) => sidesOf(kernel, told.spatial_dims));
  // `same_padding` refuses even kernels.
  if (told.strides.length < told.channels.length - 1 || kernels.some((side) => side % 2 === 0)) return null;
  if (!isKnown(styleOf(told, "prelu"))) return null;
  return new Writer(graph, told).level("model", 0, told.in_channels, told.out_channels);
}
