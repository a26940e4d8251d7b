/** A strategy that a Python call makes, as the keys that LightningCLI writes for it. */
import type { Entry, LocatedNode, PythonCall, PythonModule } from "../../syntax/tree";
import { keyword, lastName, plain, qualified, scalar } from "../hf-scripts/called";
import { callBehind } from "../hf-scripts/training";

const STRATEGY = "trainer.strategy";
const MADE = /Strategy$/;
/** Arguments that name classes of modules: a set, a policy around one, a part of a function. */
const POLICIES = /^(?:auto_wrap_policy|activation_checkpointing(?:_policy)?)$/;
const MEMBER = /^(?:[\w.]{0,80}\.)?(?:ShardingStrategy|BackwardPrefetch)\.(\w{1,40})$/;
/** Longest text of a policy that is looked at, in characters. */
const MAX_POLICY = 400;

/** Arguments by place, of the one class whose first ones are its own (lightning/pytorch/strategies/model_parallel.py). */
const PLACES: readonly string[] = ["data_parallel_size", "tensor_parallel_size"];

/** Names of classes in a text, separated by commas: `ModuleWrapPolicy({Block})` has `Block`. */
function classesIn(text: string): string {
  const names = text.match(/[A-Za-z_]\w*/g) ?? [];
  return names.filter((name) => /^[A-Z]\w*[a-z]/.test(name) && !/Policy$|^None$|^True$|^False$/.test(name)).join(",");
}

function argumentValue(name: string, node: LocatedNode, python: PythonModule, text: string): LocatedNode {
  if (node.kind === "scalar") return node;
  if (POLICIES.test(name)) {
    const { start, end } = (node.kind === "unknown" ? node.source : undefined) ?? node;
    const classes = classesIn(text.slice(start, Math.min(end, start + MAX_POLICY)));
    return classes === "" ? node : scalar(classes, node);
  }
  const call = callBehind(python, node);
  const made = lastName(call?.callee ?? "");
  if (made === "CPUOffload")
    return scalar(plain(keyword(call, "offload_params")?.value ?? call?.positional[0]) === true, node);
  if (call !== undefined && made === "MixedPrecision") return call.keywords;
  const member = node.kind === "unknown" ? MEMBER.exec(node.raw)?.[1] : undefined;
  return member === undefined ? node : scalar(member, node);
}

function argumentsOf(call: PythonCall): readonly Entry[] {
  const { positional, calleeSpan, keywords } = call;
  const placed = positional.flatMap((value, at) => {
    const key = lastName(call.callee) === "ModelParallelStrategy" ? PLACES[at] : undefined;
    return key === undefined ? [] : [{ key, keySpan: calleeSpan, value }];
  });
  // With a config of one's own DeepSpeedStrategy reads none of the arguments that make one (lightning/pytorch/strategies/deepspeed.py).
  const config = keyword(call, "config");
  return config !== undefined && plain(config.value) !== null ? [config] : [...placed, ...keywords.entries];
}

/** Entries of calls with a strategy's class and arguments in the place of the call that makes it. */
export function withStrategy(entries: readonly Entry[], python: PythonModule, text: string): readonly Entry[] {
  return entries.flatMap((entry) => {
    const call = entry.key === STRATEGY && entry.value.kind !== "scalar" ? callBehind(python, entry.value) : undefined;
    if (call === undefined || !MADE.test(call.callee)) return [entry];
    const made = scalar(qualified(call.callee, python), call.calleeSpan);
    return [
      { ...entry, key: `${STRATEGY}.class_path`, value: made },
      ...argumentsOf(call).map(({ key, keySpan, value }) => ({
        key: `${STRATEGY}.init_args.${key}`,
        keySpan,
        value: argumentValue(key, value, python, text),
      })),
    ];
  });
}
