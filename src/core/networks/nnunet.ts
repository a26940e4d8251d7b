/** Graphs of nnU-Net's networks, made from their plans (`configurations.*.architecture`). */
import * as z from "zod/mini";
import type { FamilyGraphs } from "../graph/types";
import type { ModelConfig } from "../training/run";
import { deepSupervision } from "./segmentation-loss";
import { type UNet, UNetWriter } from "./unet";
import { GraphWriter, writtenGraphs } from "./writer";

/** `model_type` of a run's model whose graph is made from nnU-Net's plans. */
export const NNUNET = "nnunet";

const count = z.int().check(z.positive());
const perStage = z.array(count).check(z.minLength(2));
const sidesPerStage = z.array(z.array(count)).check(z.minLength(2));

/** Keys as in the plans and in nnU-Net's own code; `num_output_channels` are the heads' channels. */
const planSchema = z.looseObject({
  network_class_name: z.string(),
  patch_size: z.array(count).check(z.minLength(2), z.maxLength(3)),
  num_input_channels: count,
  num_output_channels: count,
  batch_dice: z.boolean(),
  has_regions: z.boolean(),
  has_ignore_label: z.boolean(),
  arch_kwargs: z.looseObject({
    features_per_stage: perStage,
    kernel_sizes: sidesPerStage,
    strides: sidesPerStage,
    n_conv_per_stage: z.optional(perStage),
    n_blocks_per_stage: z.optional(perStage),
    n_conv_per_stage_decoder: z.array(count).check(z.minLength(1)),
    conv_bias: z.optional(z.boolean()),
  }),
});

/** Lists whose lengths do not go together build no network. */
function networkOf(config: ModelConfig): { readonly net: UNet; readonly plan: z.infer<typeof planSchema> } | null {
  const read = planSchema.safeParse(config);
  if (!read.success) return null;
  const { data: plan } = read;
  const { arch_kwargs: kwargs } = plan;
  const residual = plan.network_class_name.endsWith("ResidualEncoderUNet");
  const blocks = residual ? kwargs.n_blocks_per_stage : kwargs.n_conv_per_stage;
  const stages = kwargs.features_per_stage.length;
  const sides = plan.patch_size.length;
  const fits =
    (residual || plan.network_class_name.endsWith("PlainConvUNet")) &&
    blocks?.length === stages &&
    kwargs.n_conv_per_stage_decoder.length === stages - 1 &&
    [kwargs.kernel_sizes, kwargs.strides].every(
      (list) => list.length === stages && list.every((entry) => entry.length === sides),
    );
  if (!fits) return null;
  const net: UNet = {
    residual,
    inputChannels: plan.num_input_channels,
    outputChannels: plan.num_output_channels,
    patch: plan.patch_size,
    features: kwargs.features_per_stage,
    kernels: kwargs.kernel_sizes,
    strides: kwargs.strides,
    blocks,
    decoder: kwargs.n_conv_per_stage_decoder,
    convBias: kwargs.conv_bias ?? false,
  };
  return { net, plan };
}

/** The graph of one training step's forward, loss included; null where the plans describe no network of nnU-Net's. */
export function nnunetGraphs(config: ModelConfig): FamilyGraphs | null {
  const found = networkOf(config);
  if (found === null) return null;
  const { net, plan } = found;
  const graph = new GraphWriter();
  const input = graph.input("data", ["B", net.inputChannels, ...net.patch], "$float32");
  const masks = plan.num_output_channels + (plan.has_ignore_label ? 1 : 0);
  let sides = net.patch;
  const targets = net.strides.slice(0, -1).map((stride, k) => {
    sides = sides.map((side, n) => Math.floor(side / (stride[n] ?? 1)));
    return graph.input(
      `target.${k}`,
      ["B", plan.has_regions ? masks : 1, ...sides],
      plan.has_regions ? "$bool" : "$int16",
    );
  });
  const logits = new UNetWriter(graph, net).forward(input);
  const loss = {
    batchDice: plan.batch_dice,
    regions: plan.has_regions,
    ignores: plan.has_ignore_label,
    sides: net.patch.length,
  };
  const value = deepSupervision(graph, loss, logits, targets);
  return writtenGraphs(NNUNET, graph.graph("image-segmentation", [value, ...logits]));
}
