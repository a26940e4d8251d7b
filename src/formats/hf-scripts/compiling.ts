/** Where a script compiles the model that it trains: `torch.compile(model)`, `model.compile()` (torch/nn/modules/module.py). */
import type { PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at } from "./called";
import { callsBefore, loadsBehind, trainingOf } from "./training";

/** The model's own method; a loop's `torch.compile` may have any of its names. */
const METHOD = /(?:^|\.)(?!torch\b)\w{1,80}\.compile$/;

/** The compilation as the Trainer's switch says it; nothing where there is none, or where another model is compiled. */
export function compiledModel(python: PythonModule): readonly LocatedSetting[] {
  const { load } = trainingOf(python);
  const call = callsBefore(python).find(({ callee, positional, receiver }) => {
    const compiled = callee === "torch.compile" ? positional[0] : METHOD.test(callee) ? receiver : undefined;
    return compiled !== undefined && load !== undefined && loadsBehind(python, compiled).includes(load);
  });
  return call === undefined ? [] : [at("torch_compile", call, true)];
}

/** The call that compiles a loop's model: as another (`torch.compile(model)`), whatever its name, or in place by one of the model's names. */
export function compileInLoop({ calls }: PythonModule, names: ReadonlySet<string>): PythonCall | undefined {
  return calls.find(
    ({ callee }) =>
      callee === "torch.compile" || (METHOD.test(callee) && names.has(callee.slice(0, -".compile".length))),
  );
}
