/**
 * A causal language model with TRL's value head: one number for every token, from the states that the output head takes.
 * Source: trl/models/modeling_value_head.py (AutoModelForCausalLMWithValueHead, ValueHead), version 0.24.
 */
import { hostTensor, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { outputOf } from "../../graph/reads";
import type { ArchitectureGraph, Instruction } from "../../graph/types";

/** Path of the head's one layer. */
const HEAD = "v_head.summary";

/** ValueHead's `summary_dropout_prob`, which no config of a decoder has. */
const DROPOUT = 0.1;

/** Where `cross_entropy_loss` takes its reduction, and the mean there. */
const REDUCTION = 3;
const MEAN = 1;

/** The head's parameters, trained in float32 beside whatever the model is. */
export function valueHead(torch: Torch, width: number, sharded: boolean): ReadonlyMap<string, Tensor> {
  const made = (part: string, sizes: readonly number[]): readonly [string, Tensor] => {
    const name = `${HEAD}.${part}`;
    const tensor = sharded ? hostTensor(torch.ledger, sizes, "float32") : torch.empty("empty", sizes, "float32");
    torch.ledger.relabel(tensor.storage.id, "weights");
    tensor.name = tensor.pattern = name;
    tensor.moduleKind = "Linear";
    tensor.requiresGradFlag = true;
    return [name, tensor];
  };
  return new Map([made("weight", [1, width]), made("bias", [1])]);
}

/**
 * The wrapper's forward: the model with its own loss (labels are handed on, and averaged without a count of items), then
 * the values. Gives the values, the loss and the logits in float32; null where the head or the loss cannot be told.
 */
export function withValueHead(graph: ArchitectureGraph, head: string | null): ArchitectureGraph | null {
  const { main } = graph;
  const { body } = main;
  const logits = outputOf(main, 1);
  const at = body.findIndex((instruction) => "call" in instruction && instruction.path === head);
  const lossAt = body.findIndex((instruction) => "op" in instruction && instruction.op === "cross_entropy_loss");
  const [call, loss] = [body[at], body[lossAt]];
  if (logits === undefined || call === undefined || loss === undefined || lossAt < at) return null;
  if (!("call" in call) || !("op" in loss)) return null;
  const made = new Set(body.slice(0, lossAt + 1).flatMap((one) => ("out" in one ? one.out : [])));
  const dropped = body.slice(lossAt + 1).flatMap((one) => ("drop" in one ? one.drop : []));
  const own: readonly Instruction[] = [
    ...body.slice(0, at),
    { op: "alias", in: [call.in[0]!], out: ["value_input"] },
    ...body.slice(at, lossAt),
    { ...loss, in: [...loss.in.slice(0, REDUCTION), MEAN, ...loss.in.slice(REDUCTION + 1)] },
    // The model's own names go before the head runs.
    { drop: dropped.filter((name) => made.has(name) && name !== logits && !loss.out.includes(name)) },
    { scope: "v_head" },
    { op: "dropout", in: ["%value_input", DROPOUT, true], out: ["value_dropped"] },
    { op: "to.dtype", in: ["%value_dropped", "$float32"], out: ["value_raised"] },
    { drop: ["value_dropped"] },
    { call: "Linear", path: HEAD, in: ["%value_raised"], out: ["value_wide"] },
    { drop: ["value_raised"] },
    { op: "squeeze.dim", in: ["%value_wide", -1], out: ["value"] },
    { drop: ["value_wide"] },
    { op: "to.dtype", in: [`%${logits}`, "$float32"], out: ["raised_logits"] },
  ];
  return { ...graph, main: { ...main, body: own, outputs: ["value", String(loss.out[0]), "raised_logits"] } };
}
