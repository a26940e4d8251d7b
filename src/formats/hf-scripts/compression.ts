/** Hooks that compress gradients, as a loop's copies are given them (torch/distributed/algorithms/ddp_comm_hooks). */
import type { PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, plain } from "./called";
import { rawOf } from "./loads";

const REGISTERS = /(?:^|\.)register_comm_hook$/;
const STATE = /(?:^|\.)PowerSGDState$/;
const CASTS = /(?:^|\.)(fp16|bf16)_compress_hook$/;
const LOW_RANK = /(?:^|\.)powerSGD_hook$/;
const NONE = /(?:^|\.)allreduce_hook$/;

/** The hook that a call registers, as it is written. */
function hookOf(call: PythonCall): string {
  return rawOf(given(call, "hook") ?? call.positional[1]) ?? "";
}

/** Whether what a call registers is followed. */
export function isFollowedHook(call: PythonCall): boolean {
  const hook = REGISTERS.test(call.callee) ? hookOf(call) : "";
  return [CASTS, LOW_RANK, NONE].some((known) => known.test(hook));
}

/** What the hook sends gradients as, and PowerSGD's state where it is made. */
export function compressionSettings({ calls }: PythonModule): LocatedSetting[] {
  const call = calls.find(isFollowedHook);
  if (call === undefined) return [];
  const casts = CASTS.exec(hookOf(call))?.[1];
  if (casts !== undefined) return [at("ddp_hook_dtype", call, casts === "fp16" ? "float16" : "bfloat16")];
  if (!LOW_RANK.test(hookOf(call))) return [];
  const state = calls.find(({ callee }) => STATE.test(callee));
  const rank = plain(given(state, "matrix_approximation_rank") ?? state?.positional[1]) ?? 1;
  return [
    at("ddp_hook_rank", state ?? call, typeof rank === "number" ? rank : 1),
    ...(["feedback", "warm"] as const).flatMap((name) => {
      const said = plain(given(state, name === "feedback" ? "use_error_feedback" : "warm_start"));
      return said === false ? [at(`ddp_hook_${name}`, state ?? call, false)] : [];
    }),
  ];
}
