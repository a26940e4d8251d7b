/**
 * What jobs of clusters ask for: GPUs of a node, nodes, and which GPU. The keys as their files write them: `#SBATCH` options, SkyPilot's
 * tasks, Kubernetes' containers and labels of nodes.
 * Source: `man sbatch`; SkyPilot's `sky/utils/schemas.py`; NVIDIA's k8s-device-plugin and gpu-feature-discovery.
 */
import { table } from "../../terms/table";
import { memory, other } from "../effects";
import type { KeySpec } from "../types";

/** GPUs of each node, in the order in which they are asked. */
export const GPUS_PER_NODE: readonly string[] = [
  "gpus_per_node",
  "gres",
  "accelerators",
  "nvidia.com/gpu",
  "amd.com/gpu",
];

export const NODES: readonly string[] = ["nodes", "N", "num_nodes", "replicas"];

/** Labels of nodes that name their GPU, or the machine that it is in. */
export const GPU_LABELS: readonly string[] = [
  "nvidia.com/gpu.product",
  "cloud.google.com/gke_accelerator",
  "gpu.nvidia.com/class",
  "gpu.nvidia.com/model",
  "karpenter.k8s.aws/instance_gpu_name",
  "node.kubernetes.io/instance_type",
  "beta.kubernetes.io/instance_type",
];

/** Names that mean a smaller card than the catalogue's first of that name. */
export const CARDS: Readonly<Record<string, string>> = table({ A100: "A100-40GB", "nvidia-tesla-a100": "A100-40GB" });

/** The keys that hovers explain. */
export const JOB_KEYS: readonly KeySpec[] = [
  other("accelerators", "device", "job.gpus"),
  memory("num_nodes", "nodes", "nodes"),
  other("nvidia.com/gpu", "granted_devices", "job.gpus", { aliases: ["amd.com/gpu"] }),
  memory("replicas", "nodes", "nodes"),
  ...GPU_LABELS.map((label) => other(label.replaceAll("_", "-"), "device", "job.gpu")),
];
