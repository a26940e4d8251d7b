/**
 * A model's body alone, as `AutoModel` loads it and a script's own code calls it: the graph of a head on it, as far as what the head is
 * given (transformers/models/bert/modeling_bert.py, BertModel.forward, whose outputs are `last_hidden_state` and `pooler_output`).
 */
import { bareName } from "./reads";
import type { ArchitectureGraph, Instruction } from "./types";

/** The module that makes one vector of the first token's, which such models have with `add_pooling_layer`. */
const POOLER = /(?:^|\.)pooler(?:\.|$)/;

/** What its outputs are called, in their order. */
export const BODY_OUTPUTS = ["last_hidden_state", "pooler_output"] as const;

/**
 * @param pools whether its class has a pooler of its own, which classes with heads may leave out
 * @param labelled whether the batch has labels beside
 * @returns null where the body cannot be told from the head
 */
export function bodyOf(graph: ArchitectureGraph, pools: boolean, labelled: boolean): ArchitectureGraph | null {
  const root = graph.parameters.find(({ name }) => name.includes("{i}"))?.name.split(".", 1)[0] ?? "";
  const { body } = graph.main;
  const last = body.findLastIndex((one) => "repeat" in one);
  if (root === "" || last < 0) return null;
  const isOf = (path: string): boolean => path === root || path.startsWith(`${root}.`);
  let scope = root;
  let hidden: string | null = null;
  let pooled: string | null = null;
  const kept: Instruction[] = [];
  for (const [k, one] of body.entries()) {
    if (k > last && "scope" in one) scope = one.scope;
    if (k > last && (!isOf(scope) || ("path" in one && !isOf(one.path)))) break;
    kept.push(one);
    if (k < last) continue;
    const made = "repeat" in one ? one.repeat.out.slice(0, 1) : "out" in one ? one.out : [];
    const out = made.findLast((name) => name !== null);
    if (out == null) continue;
    if (POOLER.test(scope)) pooled = bareName(out);
    else hidden = bareName(out);
  }
  if (hidden === null) return null;
  const dense = `${root}.pooler.dense`;
  const adds = pools && pooled === null;
  const outputs = [hidden, ...(adds ? ["pooled"] : pooled === null ? [] : [pooled])];
  const parameters = graph.parameters.filter(({ name }) => isOf(name));
  return {
    ...graph,
    parameters: adds
      ? [
          ...parameters,
          { name: `${dense}.weight`, shape: ["hidden_size", "hidden_size"], module: "Linear" },
          { name: `${dense}.bias`, shape: ["hidden_size"], module: "Linear" },
        ]
      : parameters,
    tied: graph.tied.filter(({ name }) => isOf(name)),
    batch: labelled ? graph.batch : graph.batch.filter(({ name }) => name !== "labels"),
    main: { ...graph.main, body: adds ? [...kept, ...pooler(hidden, `${root}.pooler`)] : kept, outputs },
  };
}

/** The first token's state through a linear layer and tanh (transformers/models/roberta/modeling_roberta.py, RobertaPooler). */
function pooler(hidden: string, path: string): Instruction[] {
  return [
    { scope: path },
    { op: "select.int", in: [`%${hidden}`, 1, 0], out: ["first"] },
    { call: "Linear", path: `${path}.dense`, in: ["%first"], out: ["dense"] },
    { op: "tanh", in: ["%dense"], out: ["pooled"] },
    { drop: ["dense", "first"] },
  ];
}
