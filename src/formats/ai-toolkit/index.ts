/** Jobs of ai-toolkit: `config.process` is a list, whose first entry trains. */

import type { Entry, LocatedNode, MapNode } from "../../syntax/tree";
import { dataView } from "../carriers";
import type { Deriving } from "../deriving";
import { lineNamed, PUBLISHED } from "../diffusers/published";
import { has, NOT_RECOGNISED } from "../recognition";
import { schemaFormat, type View } from "../schema";
import type { ConfigDocument } from "../types";
import { AI_TOOLKIT_KEYS, COSTLESS } from "./keys";

const under = (map: MapNode, key: string): LocatedNode | undefined =>
  map.entries.find((entry) => entry.key === key)?.value;

/** The first process, with its first folder of pictures in the place of the list of them. */
function views(document: ConfigDocument): readonly View[] {
  const root = dataView(document, ["yaml", "json"])[0]?.map;
  const config = root === undefined ? undefined : under(root, "config");
  const list = config?.kind === "map" ? under(config, "process") : undefined;
  const process = list?.kind === "list" ? list.items[0] : undefined;
  if (process?.kind !== "map") return [];
  const entries = process.entries.map((entry): Entry => {
    const first = entry.key === "datasets" && entry.value.kind === "list" ? entry.value.items[0] : undefined;
    return first === undefined ? entry : { ...entry, value: first };
  });
  return [{ map: { ...process, entries }, target: process, words: [] }];
}

/** Buckets of several resolutions: a step of the largest needs most. */
function largest(node: LocatedNode): number | undefined {
  if (node.kind !== "list") return undefined;
  const sides = node.items.flatMap((item) =>
    item.kind === "scalar" && typeof item.value === "number" ? item.value : [],
  );
  return sides.length === 0 ? undefined : sides.reduce((most, side) => Math.max(most, side));
}

function derive(d: Deriving): void {
  const [first] = d.stated;
  const line = lineNamed(d.find("model_type")?.value);
  const network = d.find("network_module");
  const side = d.find("image_size");
  if (side !== undefined) d.make(side, "image_size", largest(side.node));
  if (d.find("load_dtype") !== undefined && !d.has("texts_quantized"))
    d.make(d.find("load_dtype"), "texts_quantized", true);
  d.make(d.find("model") ?? first, "config_name", line === undefined ? undefined : PUBLISHED[line]);
  const kind = network === undefined ? "whole" : network.value === "lora" ? "lora" : undefined;
  const known = line !== undefined && kind !== undefined;
  d.make(
    network ?? first,
    "training_script",
    known ? `ai-toolkit.${kind}.${line}` : `ai-toolkit ${String(network?.value ?? "")}`,
  );
}

const TRAINERS = /^(?:sd_trainer|diffusion_trainer|ui_trainer|train|textual_inversion|slider|concept_slider)$/;

export const aiToolkit = schemaFormat({
  id: "ai-toolkit",
  keys: AI_TOOLKIT_KEYS,
  views,
  readsBeside: (path) => COSTLESS.test(path),
  recognise({ map }) {
    const type = under(map, "type");
    const named = type?.kind === "scalar" && TRAINERS.test(String(type.value));
    const blocks = ["train", "model"].every((key) => under(map, key)?.kind === "map");
    return named && blocks ? { confidence: 0.98, because: has("config.process", "train", "model") } : NOT_RECOGNISED;
  },
  derive,
});
