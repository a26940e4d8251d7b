/**
 * Outputs that a script has require grad by hooks of its own (`model.model.encoder.conv1.register_forward_hook(…)`), as people do it for
 * adapters on a frozen model under checkpointing. Source: torch/nn/modules/module.py (`register_forward_hook`).
 */
import type { PythonCall, PythonModule, PythonPath } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { listed, plain } from "./called";
import { adaptedAt, isModel, ruleOfPart, WRAPPED } from "./freezing";
import { callsBefore, trainingOf } from "./training";

const HOOKS = /(?:^|\.)register_forward_hook$/;
/** What a hook does with the output that it is given. */
const REQUIRES = /^\w+\.requires_grad_$/;

/** Whether something that is called later has what it is given require grad. */
function tells({ calls }: PythonModule): boolean {
  return calls.some(
    ({ callee, deferred, positional }) => deferred === true && REQUIRES.test(callee) && plain(positional[0]) !== false,
  );
}

function hooked(python: PythonModule): readonly (PythonCall & { readonly path: PythonPath })[] {
  const hooks = callsBefore(python).flatMap((call) =>
    HOOKS.test(call.callee) && call.path !== undefined ? [{ ...call, path: call.path }] : [],
  );
  const training = trainingOf(python);
  return hooks.length === 0 || !tells(python) ? [] : hooks.filter(({ path }) => isModel(path, training, python));
}

/** Whether a hook on the input embeddings has them require grad. */
export function tellsEmbeddings(python: PythonModule): boolean {
  return hooked(python).some(({ path: { steps } }) => {
    const last = steps.at(-1);
    return last?.kind === "call" && last.name === "get_input_embeddings";
  });
}

/** Modules of the model whose outputs hooks have require grad, by their paths. */
export function toldModules(python: PythonModule): readonly LocatedSetting[] {
  const adapted = adaptedAt(python, trainingOf(python));
  const texts = hooked(python).flatMap(({ path, order = 0, calleeSpan }) => {
    const isWrapped = order > adapted;
    const part = ruleOfPart(path, isWrapped)?.part ?? [];
    // Graphs name modules as the model has them, without what peft puts around it.
    const names = isWrapped ? part.slice(WRAPPED.length) : part;
    const isNamed = names.length > 0 && names.every((name) => typeof name === "string");
    return isNamed ? [{ at: calleeSpan, text: names.join(".") }] : [];
  });
  return listed("outputs_require_grad", "register_forward_hook", texts);
}
