/**
 * SkyPilot's tasks: `resources`, `num_nodes`, `envs`, and a `run` that a shell runs.
 * Source: https://docs.skypilot.co/en/latest/reference/yaml-spec.html, sky/utils/schemas.py (get_task_schema).
 */
import type { Entry, LocatedNode, MapNode } from "../tree";
import { childOf, countOf, entryOf, type Job, standing, textOf, variable, variablesOf } from "./job";

/** Keys that only a task has beside `run`. */
const BESIDE = ["resources", "num_nodes", "setup", "file_mounts", "workdir"];

export function skypilotJob(root: MapNode): Job | undefined {
  const run = textOf(entryOf(root, "run")?.value);
  if (run === undefined || !BESIDE.some((key) => entryOf(root, key) !== undefined)) return undefined;
  const accelerators = acceleratorsOf(entryOf(root, "resources")?.value);
  const nodes = entryOf(root, "num_nodes");
  const perNode = accelerators === undefined ? undefined : numberOf(accelerators.value);
  return {
    run: { script: [run] },
    environment: [
      ...variablesOf(entryOf(root, "envs")?.value),
      ...(accelerators === undefined || perNode === undefined
        ? []
        : [variable("SKYPILOT_NUM_GPUS_PER_NODE", accelerators.value, perNode)]),
      variable("SKYPILOT_NUM_NODES", nodes?.value ?? run, countOf(nodes?.value) ?? 1),
    ],
    asks: [...(accelerators === undefined ? [] : [accelerators]), ...(nodes === undefined ? [] : [nodes])],
  };
}

/** `H100:8`, `{H100: 8}`, or the first of a list of either; of several resources to choose from, the first that names one. */
function acceleratorsOf(resources: LocatedNode | undefined): Entry | undefined {
  const own = entryOf(resources, "accelerators");
  if (own === undefined) {
    const others = ["any_of", "ordered"].map((key) => childOf(resources, key));
    return others
      .flatMap((node) => (node?.kind === "list" ? node.items : []))
      .map(acceleratorsOf)
      .find((found) => found !== undefined);
  }
  const value = oneOf(own.value);
  return value === undefined ? undefined : { ...own, value };
}

function oneOf(node: LocatedNode): Entry["value"] | undefined {
  if (node.kind === "scalar") {
    const name = String(node.value ?? "").trim();
    return name === "" ? undefined : name.includes(":") ? node : standing(node, `${name}:1`);
  }
  if (node.kind === "list") return node.items[0] === undefined ? undefined : oneOf(node.items[0]);
  const first = node.kind === "map" ? node.entries[0] : undefined;
  if (first === undefined) return undefined;
  const count = countOf(first.value);
  return standing(
    { ...first.value, start: first.keySpan.start },
    count === undefined ? first.key : `${first.key}:${count}`,
  );
}

/** GPUs of `H100:8`; one where no number is said. */
function numberOf(node: LocatedNode): number | undefined {
  if (node.kind !== "scalar") return undefined;
  return Number(/:\s?(\d{1,4})$/.exec(String(node.value))?.[1] ?? 1);
}
