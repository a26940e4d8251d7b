/** The graphs of a run's model: of its own code, of a framework's, or of its nearest relative. */

import { innerFamilyOf, relativeOf } from "../../core/graph/relatives";
import type { FamilyGraphs } from "../../core/graph/types";
import { WRITTEN } from "../../core/networks";
import type { DocumentStore } from "../documents/store";
import type { Framework } from "../frameworks/framework";
import { runsOwnCode } from "../frameworks/frameworks";
import type { Settings } from "../frameworks/settings";
import type { Catalogue } from "../models/catalogue";
import type { ModelFound } from "../models/model-found";
import type { Runtime } from "../runtime";
import type { Naming } from "./hydra-program";

/** Which of a family's graphs are asked for. */
export interface GraphsAsked {
  /** With the trainers' losses of that file of `models/trainers`. */
  readonly losses: string | null;
  /** Of the code of this release of transformers; null: of code that is not transformers', for which the newest stands. */
  readonly transformers: string | null;
}

export interface GatherContext {
  readonly runtime: Runtime;
  readonly store: DocumentStore;
  readonly catalogue: Catalogue;
  /** Graphs of a family. */
  readonly graphs: (family: string, of: GraphsAsked) => Promise<FamilyGraphs | undefined>;
  /** `model` of the overrides, when the person tries another one. */
  readonly modelOverride: string | undefined;
  /** The Hydra program that names the document, when the run is reached from there. */
  readonly program?: Naming | undefined;
}

/** The model with the framework's own code for it and that code's graphs; undefined where it was not captured. */
export async function ownCodeOf(
  model: ModelFound & { readonly kind: "found" },
  framework: Framework,
  settings: Settings,
  context: GatherContext,
): Promise<{ readonly model: ModelFound; readonly graphs: FamilyGraphs } | undefined> {
  const own = runsOwnCode(framework, settings) ? framework.codeOf?.(model.config, settings) : undefined;
  const graphs = own && (await context.graphs(own.code, { losses: null, transformers: null }));
  return own && graphs && { model: { ...model, config: own.config, code: own.code }, graphs };
}

/** Graphs of a model that is not trained; it has no relative's. */
export async function ownGraphs(
  model: ModelFound,
  transformers: string | null,
  context: GatherContext,
): Promise<FamilyGraphs | undefined> {
  if (model.kind !== "found") return undefined;
  return context.graphs(String(model.config["model_type"]), { losses: null, transformers });
}

/** The model's own graphs, or those of the captured family nearest to it. */
export async function graphsFor(
  family: string,
  model: ModelFound | undefined,
  asked: GraphsAsked,
  context: GatherContext,
): Promise<FamilyGraphs | undefined> {
  const row = WRITTEN[family];
  const written = model?.kind === "found" ? row?.graphs(model.config) : undefined;
  if (written || row?.alone === true) return written ?? undefined;
  if (model?.kind === "found" && model.own !== undefined) return model.own.graphs;
  const own = await context.graphs(family, asked);
  if (own !== undefined || model?.kind !== "found") return own;
  for (const relative of [innerFamilyOf(model.config), relativeOf(model.config)]) {
    const graphs = relative === undefined ? undefined : await context.graphs(relative, asked);
    if (graphs !== undefined) return graphs;
  }
  return undefined;
}
