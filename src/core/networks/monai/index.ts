/** Graphs of MONAI's networks, written from the arguments that a script makes them with, its loss and its patches. */
import * as z from "zod/mini";
import type { FamilyGraphs } from "../../graph/types";
import type { ModelConfig } from "../../training/run";
import { GraphWriter, writtenGraphs } from "../writer";
import { basicUnet } from "./basic-unet";
import { dynunet } from "./dynunet";
import type { Layer } from "./layers";
import { LossWriter, lossOf } from "./losses";
import { count } from "./options";
import { segresnet } from "./segresnet";
import { unet } from "./unet";

/** `model_type` of a run's model whose graph is made from a script's call of one of MONAI's networks. */
export const MONAI = "monai";

/** Networks by the names of their classes. */
const NETWORKS: ReadonlyMap<string, (graph: GraphWriter, given: unknown) => Layer | null> = new Map([
  ["UNet", unet],
  ["Unet", unet],
  ["BasicUNet", basicUnet],
  ["BasicUnet", basicUnet],
  ["SegResNet", segresnet],
  ["DynUNet", dynunet],
  ["DynUnet", dynunet],
]);

const schema = z.looseObject({
  network: z.string(),
  /** With the defaults that networks which have one share. */
  arguments: z.looseObject({
    spatial_dims: z._default(count, 3),
    in_channels: z._default(count, 1),
    out_channels: z._default(count, 2),
  }),
  loss: z.unknown(),
  /** Voxels of a patch by side; absent where nothing but the run's side of pictures says it. */
  patch: z.optional(z.array(count)),
  /** Patches that are cut from one picture. */
  samples: z._default(count, 1),
});

/** The graph of a training step's forward, loss included; null where network, loss or patch are none that are known. */
export function monaiGraphs(config: ModelConfig): FamilyGraphs | null {
  const read = schema.safeParse(config);
  if (!read.success) return null;
  const { network, arguments: told, samples, patch } = read.data;
  const { spatial_dims: sides, in_channels: channels, out_channels: classes } = told;
  const loss = lossOf(read.data.loss);
  const graph = new GraphWriter();
  if (loss === null || (patch !== undefined && patch.length !== sides)) return null;
  const rows = samples === 1 ? "B" : `${samples} * B`;
  const pictures = patch ?? Array.from({ length: sides }, () => "I");
  const inputs = graph.input("image", [rows, channels, ...pictures], "$float32");
  const forward = NETWORKS.get(network)?.(graph, told) ?? null;
  if (forward === null) return null;
  const writer = new LossWriter(graph, loss, classes, [rows, classes, ...pictures]);
  const labels = graph.input("label", [rows, writer.targets, ...pictures], "$float32");
  const logits = forward(inputs);
  graph.binds();
  const value = writer.of({ logits, target: labels });
  return writtenGraphs(MONAI, graph.graph("image-segmentation", [value, logits]));
}
