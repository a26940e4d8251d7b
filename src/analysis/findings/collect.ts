/** All findings of a run: what the formats reported, what linking found, what the rules say, and the verdict. */

import type { EstimateResult } from "../../core/estimate";
import { suggestDevices } from "../../core/hardware/devices";
import { earlierTwin } from "../../formats/edit";
import { replacing } from "../../formats/fix";
import { strictMend } from "../../formats/trainer";
import type { ProblemFix } from "../../formats/types";
import { isProgram, isScript } from "../../syntax/dispatch";
import type { Span } from "../../syntax/tree";
import { table } from "../../terms/table";
import { type Message, say } from "../../words/message";
import type { LoadedDocument } from "../documents/store";
import { frameworkOf } from "../frameworks/frameworks";
import type { RunInputs } from "../linking/inputs";
import { type Problem, type ProblemPlace, problemAt } from "../problems";
import type { Obstacle, Resolution } from "../resolve";

/** Problems that hold without an estimate. */
export function documentProblems(
  inputs: RunInputs,
  resolution: Resolution,
  result: EstimateResult | undefined,
): Problem[] {
  const problems: Problem[] = [...inputs.problems];
  const read = [
    inputs.main,
    ...(inputs.deepspeed === undefined || inputs.deepspeed === inputs.main ? [] : [inputs.deepspeed]),
  ];
  for (const document of read) {
    const at = (span: Span): ProblemPlace => ({ uri: document.uri, span });
    // A parser that stumbles complains of one place more than once; what it made of that place is wrong for the same reason.
    const broken = new Set<number>();
    for (const found of document.config?.parsed.problems ?? []) {
      if (
        found.code === "not-strict-json" ||
        (found.code === "duplicate-key" && document.config?.languageId === "json")
      )
        continue;
      const code = SYNTAX_CODES[found.code] ?? "syntax";
      if (code === "syntax") {
        if (broken.has(found.start)) continue;
        broken.add(found.start);
      }
      const fixes = code === "duplicate-key" ? duplicateFix(document, found) : [];
      problems.push(
        problemAt(at(found), code, syntaxSeverity(code, document.config?.languageId), found.message, fixes),
      );
    }
    problems.push(...(document === inputs.main ? [] : strictness(inputs, document)));
    const own = document === inputs.main ? inputs.program?.problems : undefined;
    for (const found of own ?? document.read.problems) {
      if (broken.has(found.start)) continue;
      const fixes = found.code === "duplicate-key" ? duplicateFix(document, found) : found.fixes;
      problems.push(problemAt(at(found), found.code, found.severity, found.message, fixes));
    }
    for (const found of document.directives.unknown)
      problems.push(problemAt(at(found), "unknown-key", "warning", say("unknown-key.directive", { key: found.key })));
  }
  problems.push(...modelProblems(inputs, resolution, result), ...obstacleProblems(inputs, resolution));
  problems.push(...deviceProblems(resolution));
  return problems;
}

/** Readers that keep a key stated twice keep the last; taking the earlier away changes nothing for them. */
function duplicateFix({ config }: LoadedDocument, { start }: Span): readonly ProblemFix[] {
  const twin = config === undefined ? undefined : earlierTwin(config, start);
  if (twin === undefined) return [];
  return [{ title: say("fix.remove-earlier", { key: twin.key }), safe: true, remove: twin.keySpan }];
}

/** DeepSpeed takes HJSON, but these trainers read its file themselves (`json.load` in accelerate/utils/deepspeed.py). */
function strictness({ format }: RunInputs, { uri, config }: LoadedDocument): Problem[] {
  if (frameworkOf(format).trainer === undefined || config?.languageId !== "json") return [];
  return config.parsed.problems
    .filter(({ code }) => code === "not-strict-json")
    .map((found) => problemAt({ uri, span: found }, "strict-json", "error", say("strict-json.hf"), strictMend(found)));
}

/** A data file that cannot be read stops its consumer; scripts have readers of their own that say so better. */
function syntaxSeverity(code: string, languageId: string | undefined): Problem["severity"] {
  if (code === "duplicate-key") return "warning";
  if (code === "unresolved-template") return "information";
  return isScript(languageId) || isProgram(languageId) ? "warning" : "error";
}

const SYNTAX_CODES: Readonly<Record<string, string>> = table({
  "duplicate-key": "duplicate-key",
  "merge-conflict": "merge-conflict",
  template: "unresolved-template",
});

function modelProblems(inputs: RunInputs, resolution: Resolution, result: EstimateResult | undefined): Problem[] {
  const { model } = inputs;
  const stated = resolution.settings.strongest(["config_name", "model"]);
  const uri = stated?.place?.uri ?? inputs.main.uri;
  const span = stated?.place?.valueSpan ?? { start: 0, end: 0 };
  const at = { uri, span };
  const unknown = (severity: Problem["severity"], message: Message): Problem =>
    problemAt(at, "unknown-model", severity, message);
  if (model === undefined) {
    // A part of a run names no model of its own; neither does a run that is not estimated anyway.
    const alone =
      frameworkOf(inputs.format).part === "engine" ||
      inputs.used === true ||
      resolution.obstacles.some((found) => found.code === "not-modelled");
    if (alone || resolution.settings.open("model")?.unknown) return [];
    // Of a script that only starts a program nothing is read but what that one says.
    return [problemAt(firstPlace(inputs), "unknown-model", "information", say("unknown-model.nothing"))];
  }
  if (model.kind === "missing" && model.own === true)
    return [unknown("information", say("unknown-model.own", { name: model.name }))];
  if (model.kind === "missing") {
    const id = model.local
      ? (`unknown-model.${model.refused ? "untrusted" : "local"}` as const)
      : model.near === undefined
        ? "unknown-model.hub"
        : "unknown-model.hub-near";
    const fixes =
      model.near === undefined || stated?.place == null
        ? []
        : [replacing({ key: stated.key, valueSpan: span }, model.near, false)];
    return [problemAt(at, "unknown-model", "warning", say(id, { name: model.name, near: model.near ?? "" }), fixes)];
  }
  if (model.kind === "broken") {
    const shown = model.uri.replace(/^.*\/(?=[^/]+\/[^/]+$)/, "");
    const message = say(`unknown-model.broken-${model.reason}`, { uri: shown });
    return [model.reason === "cyclic" ? problemAt(at, "cyclic-link", "warning", message) : unknown("warning", message)];
  }
  if (result !== undefined && !result.ok) {
    const family = String(model.config["model_type"]);
    const id = result.code === "unknown-model" ? "unknown-model.family" : "not-modelled";
    const message = say(id, { family, reason: result.reason });
    if (result.code === "unknown-model") return [unknown("information", message)];
    const code = result.code === "invalid-config" ? "invalid-value" : "not-modelled";
    return [problemAt(at, code, "information", message)];
  }
  return [];
}

/** Why a run that is understood is not estimated, said at its first setting. */
function obstacleProblems(inputs: RunInputs, resolution: Resolution): Problem[] {
  const obstacle =
    resolution.obstacles.find((found) => found.code === "not-modelled") ?? unsaidBatch(inputs, resolution);
  if (obstacle === undefined) return [];
  const message = say("not-modelled", { reason: obstacle.message });
  return [problemAt(firstPlace(inputs), "not-modelled", "information", message)];
}

/** The first key that a run's own document states. */
function firstPlace({ main }: RunInputs): ProblemPlace {
  return { uri: main.uri, span: main.read.settings[0]?.keySpan ?? { start: 0, end: 0 } };
}

/**
 * A whole run, its model known, that says nothing of a batch: DeepSpeed's file alone is no run, what is there has a finding of its own. In
 * the loop of a program that a command starts it has none.
 */
function unsaidBatch({ format, model, main }: RunInputs, { obstacles, settings }: Resolution): Obstacle | undefined {
  const whole = frameworkOf(format).part !== "engine" && model?.kind === "found";
  const elsewhere = settings.on("own_loop");
  const stated = settings.all("micro_batch_size").filter(({ place }) => !elsewhere || place?.uri === main.uri);
  return whole && stated.length === 0 ? obstacles[0] : undefined;
}

function deviceProblems(resolution: Resolution): Problem[] {
  const { asked, spec } = resolution.device;
  if (asked?.place == null || spec !== null || asked.value === "") return [];
  const name = String(asked.value);
  const near = suggestDevices(name, 1)[0]?.name;
  const { uri, valueSpan } = asked.place;
  const message = say(near === undefined ? "unknown-device" : "unknown-device.near", { name, near: near ?? "" });
  const fixes = near === undefined ? [] : [replacing({ key: asked.key, valueSpan }, near, false)];
  return [problemAt({ uri, span: valueSpan }, "unknown-device", "warning", message, fixes)];
}
