/**
 * Kubernetes' jobs: the containers that ask for GPUs, wherever their pods stand (Job, JobSet, PyTorchJob, MPIJob, Volcano, …).
 * Source: the API references of batch/v1, kubeflow.org/v1 (training-operator) and jobset.x-k8s.io/v1alpha2.
 */
import type { Entry, ListNode, LocatedNode, MapNode } from "../tree";
import { childOf, countOf, entryOf, isScalar, type Job, standing, variable } from "./job";

const GPU = /^(?:nvidia\.com\/(?:gpu|mig-[\w.]{1,20})|amd\.com\/gpu)$/;
/** Labels of nodes by their GPU: NVIDIA's feature discovery, GKE, EKS, CoreWeave. */
const LABELS: ReadonlySet<string> = new Set([
  "nvidia.com/gpu.product",
  "cloud.google.com/gke-accelerator",
  "gpu.nvidia.com/class",
  "gpu.nvidia.com/model",
  "karpenter.k8s.aws/instance-gpu-name",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
]);
/** How many pods of a kind run at once. */
const COPIES = ["replicas", "parallelism"];
const MOST_CONTAINERS = 100;
const DEEPEST = 24;

interface Container {
  readonly node: MapNode;
  readonly gpus: Entry | undefined;
  /** Pods that run it at once. */
  readonly pods: number;
  /** What says that there are several. */
  readonly copies: Entry | undefined;
}

export function kubernetesJob(root: MapNode): Job | undefined {
  if (entryOf(root, "apiVersion") === undefined || entryOf(root, "kind") === undefined) return undefined;
  const containers = [...containersIn(root, 1, undefined, 0)].slice(0, MOST_CONTAINERS);
  const onGpus = containers.filter(({ gpus }) => gpus !== undefined);
  // A launcher without GPUs starts what runs on the others (`mpirun`).
  const first =
    onGpus.find(({ node }) => commandOf(node) !== undefined) ?? containers.find(({ node }) => commandOf(node));
  const run = first === undefined ? undefined : commandOf(first.node);
  const gpus = onGpus[0]?.gpus;
  if (run === undefined || gpus === undefined) return undefined;
  const pods = onGpus.reduce((sum, container) => sum + container.pods, 0);
  const copies = onGpus.find((container) => container.copies !== undefined)?.copies;
  const label = labelIn(root, 0);
  const perNode = entryOf(childOf(root, "spec"), "nprocPerNode") ?? gpus;
  return {
    run,
    environment: [
      // training-operator sets these of torchrun's options (pkg/controller.v1/pytorch/elastic.go).
      variable("PET_NNODES", (copies ?? gpus).value, pods),
      ...(countOf(perNode.value) === undefined
        ? []
        : [variable("PET_NPROC_PER_NODE", perNode.value, countOf(perNode.value) ?? 1)]),
      ...variablesIn(first?.node),
    ],
    asks: [
      gpus,
      ...(copies === undefined ? [] : [{ ...copies, key: "replicas", value: standing(copies.value, pods) }]),
      ...(label === undefined ? [] : [label]),
    ],
  };
}

function* containersIn(
  node: LocatedNode,
  pods: number,
  copies: Entry | undefined,
  depth: number,
): Generator<Container> {
  if (depth > DEEPEST) return;
  if (node.kind === "list") for (const item of node.items) yield* containersIn(item, pods, copies, depth + 1);
  if (node.kind !== "map") return;
  const said = COPIES.map((key) => entryOf(node, key)).find((entry) => countOf(entry?.value) !== undefined);
  const times = pods * (countOf(said?.value) ?? 1);
  for (const { key, value } of node.entries) {
    if (key !== "containers" || value.kind !== "list") yield* containersIn(value, times, said ?? copies, depth + 1);
    else
      for (const item of value.items)
        if (item.kind === "map") yield { node: item, gpus: gpusOf(item), pods: times, copies: said ?? copies };
  }
}

function gpusOf(container: MapNode): Entry | undefined {
  const blocks = ["limits", "requests"].map((key) => childOf(container, "resources", key));
  return blocks
    .flatMap((block) => (block?.kind === "map" ? block.entries : []))
    .find(({ key, value }) => GPU.test(key) && countOf(value) !== undefined);
}

const SHELL = /^(?:\S*\/)?(?:ba|z|da)?sh$/;

/** `command` and `args` as one: a shell's own script, or the words of the program. */
function commandOf(container: MapNode): Job["run"] | undefined {
  const lists = ["command", "args"].map((key) => entryOf(container, key)?.value);
  const words = lists
    .flatMap((node) => (node?.kind === "list" ? (node satisfies ListNode).items : []))
    .filter(isScalar);
  const [program, ...rest] = words;
  if (program === undefined) return undefined;
  if (!SHELL.test(String(program.value))) return { words };
  const script = rest.find(
    ({ value }) => typeof value === "string" && !/^-\w{1,8}$|^(?:pipefail|errexit)$/.test(value),
  );
  return script === undefined ? undefined : { script: [script] };
}

/** `env: [{name: …, value: …}]` as variables. */
function variablesIn(container: LocatedNode | undefined): Entry[] {
  const list = childOf(container, "env");
  return (list?.kind === "list" ? list.items : []).flatMap((item): Entry[] => {
    const name = childOf(item, "name");
    const value = childOf(item, "value");
    return name?.kind === "scalar" && value?.kind === "scalar"
      ? [{ key: String(name.value), keySpan: name, value }]
      : [];
  });
}

/** A label of the nodes that the pods may run on, by a selector or by an expression of affinity. */
function labelIn(node: LocatedNode, depth: number): Entry | undefined {
  if (depth > DEEPEST || (node.kind !== "map" && node.kind !== "list")) return undefined;
  const inside = node.kind === "map" ? node.entries.map(({ value }) => value) : node.items;
  const own = node.kind === "map" ? (selected(node) ?? expressed(node)) : undefined;
  return own ?? inside.map((inner) => labelIn(inner, depth + 1)).find((found) => found !== undefined);
}

function selected({ entries }: MapNode): Entry | undefined {
  return entries.find(({ key, value }) => LABELS.has(key) && value.kind === "scalar");
}

function expressed(node: MapNode): Entry | undefined {
  const key = childOf(node, "key");
  const values = childOf(node, "values");
  const first = values?.kind === "list" ? values.items.find(isScalar) : undefined;
  return key?.kind === "scalar" && LABELS.has(String(key.value)) && first !== undefined
    ? { key: String(key.value), keySpan: key, value: first }
    : undefined;
}
