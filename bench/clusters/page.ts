/** Large runs worked out: what a rank of each role holds, what a machine's memory holds, and what each link carries. */

import { DocumentStore } from "../../src/analysis/documents/store";
import { gather } from "../../src/analysis/linking/inputs";
import { readCatalogue } from "../../src/analysis/models/catalogue";
import { resolveRun } from "../../src/analysis/resolve";
import { reservedPeak } from "../../src/core/allocator/replay";
import { speedOf, type Traffic, trafficOf } from "../../src/core/cost/traffic";
import { ELEMENT_BYTES } from "../../src/core/engine/dtype";
import { DEVICES_PER_MACHINE, type Device, deviceOf, usableBytes } from "../../src/core/hardware/devices";
import { breakdown } from "../../src/core/reading";
import { type RoleSimulation, simulateRoles } from "../../src/core/stages";
import type { TrainingRun } from "../../src/core/training/run";
import { graphsOf } from "../../test/core/receipts/case";
import { MemoryFiles, memoryRuntime } from "../memory";
import { CLUSTER_RUNS, type ClusterRun } from "./runs";

const GIB = 2 ** 30;
const gib = (bytes: number): string => (bytes < 0.05 * GIB && bytes > 0 ? "<0.1" : (bytes / GIB).toFixed(1));
const count = (value: number): string => value.toLocaleString("en-US");

const ROLES = { any: "every rank", first: "first stage", middle: "second stage", last: "last stage" } as const;
const SENDERS: Readonly<Record<Traffic["sender"], string>> = {
  states: "gradients and parameters",
  tensor: "split layers",
  stages: "activations between stages",
  experts: "tokens to experts and back",
  context: "keys and values of other parts",
};

/** The run that a page's documents state. */
export async function resolvedCluster({ documents }: ClusterRun, folder: string): Promise<TrainingRun> {
  const files = new MemoryFiles();
  const [opened = ""] = Object.keys(documents);
  for (const [name, text] of Object.entries(documents)) files.write(`${folder}/${name}`, text);
  const runtime = memoryRuntime(files);
  const store = new DocumentStore(runtime.files);
  const document = await store.load(`${folder}/${opened}`);
  if (document?.recognised == null) throw new Error(`${opened}: not recognised`);
  const inputs = await gather(document, document.recognised.format, {
    runtime,
    store,
    catalogue: await readCatalogue(runtime),
    graphs: (family) => Promise.resolve(graphsOf(family)),
    modelOverride: undefined,
  });
  const { run } = resolveRun(inputs, {});
  if (run === null) throw new Error(`${opened}: no run`);
  return run;
}

function roleLine({ role, simulation }: RoleSimulation, run: TrainingRun, device: Device): string {
  const { ledger, loadedEvents } = simulation;
  const { components } = breakdown(ledger);
  const of = (...kinds: readonly string[]): number =>
    components.reduce((sum, { kind, bytes }) => sum + (kinds.includes(kind) ? bytes : 0), 0);
  const states = of("weights", "adapters", "gradients", "optimizer", "buffers");
  const reserved = reservedPeak(ledger, loadedEvents);
  const ranks = role === "any" ? run.parallel.worldSize : run.parallel.worldSize / run.parallel.pipelineParallel;
  const fits = reserved <= usableBytes(device) ? "yes" : "no";
  const cells = [
    ROLES[role],
    count(ranks),
    gib(states),
    gib(of("communication")),
    gib(ledger.peak),
    gib(reserved),
    fits,
  ];
  return `| ${cells.join(" | ")} |`;
}

function trafficLine(row: Traffic, device: Device): string {
  const [slow, fast] = speedOf(row, device).map((speed) => row.bytes / speed) as [number, number];
  const link = row.span > DEVICES_PER_MACHINE ? "network" : "machine";
  const seconds = [fast, slow].map((value) => (value < 10 ? value.toPrecision(2) : value.toFixed(0))).join("–");
  return `| ${SENDERS[row.sender]} | ${link} | ${gib(row.bytes)} | ${seconds} |`;
}

/** Seconds at the slow end. */
const slowest = (row: Traffic, device: Device): number => row.bytes / speedOf(row, device)[0];

function hostLines({ loading }: ClusterRun, run: TrainingRun, { simulation }: RoleSimulation): string[] {
  const ranks = Math.min(run.parallel.worldSize, DEVICES_PER_MACHINE);
  const { pinned, pageable, nvme } = simulation.host;
  const kept = pinned + pageable;
  const weights = simulation.parameters * ELEMENT_BYTES[run.quantization === null ? run.loadDtype : "bfloat16"];
  const lines = [
    kept === 0
      ? "Nothing of a step waits in host memory."
      : `In a machine's memory while it trains: ${gib(ranks * kept)} GiB, of it ${gib(ranks * pinned)} GiB pinned.`,
  ];
  if (nvme > 0) lines.push(`On its NVMe: ${gib(ranks * nvme)} GiB.`);
  if (loading === "one")
    lines.push(
      `While loading: ${gib(weights)} GiB, as one process reads the weights; ${gib(ranks * weights)} GiB where every one does.`,
    );
  // transformers/modeling_utils.py (`load_state_dict`): every process maps the files, whose pages are there once.
  if (loading === "mapped")
    lines.push(`While loading: ${gib(weights)} GiB of mapped files, there once for all processes of a machine.`);
  if (loading === "own") lines.push("While loading: every rank reads its own part of a checkpoint.");
  return lines;
}

async function section(cluster: ClusterRun, index: number): Promise<string> {
  const run = await resolvedCluster(cluster, `file:///cases/cluster-${index}`);
  const device = run.device === null ? undefined : deviceOf(run.device);
  const roles = simulateRoles(run, graphsOf(run.model.family));
  if (!Array.isArray(roles)) throw new Error(`${cluster.title}: ${JSON.stringify(roles.reason)}`);
  const [first] = roles;
  if (device === undefined || first === undefined) throw new Error(cluster.title);
  const traffic = [...trafficOf(run, first.simulation)].sort((a, b) => slowest(b, device) - slowest(a, device));
  const [top] = traffic;
  return [
    `## ${cluster.title}`,
    "",
    cluster.story,
    "",
    "```",
    ...Object.entries(cluster.documents).flatMap(([name, text]) => [`# ${name}`, text.trimEnd()]),
    "```",
    "",
    "| role | ranks | states | gathered and sent | allocated | reserved | fits |",
    "|---|--:|--:|--:|--:|--:|---|",
    ...roles.map((role) => roleLine(role, run, device)),
    "",
    ...hostLines(cluster, run, first),
    "",
    "| a GPU sends in a step | over | GiB | seconds |",
    "|---|---|--:|--:|",
    ...traffic.map((row) => trafficLine(row, device)),
    "",
    top === undefined ? "" : `The slowest: ${SENDERS[top.sender]}, ${gib(top.bytes)} GiB a step.`,
    "",
  ].join("\n");
}

/** docs/clusters.md. */
export async function clustersPage(): Promise<string> {
  const sections = [];
  for (const [index, cluster] of CLUSTER_RUNS.entries()) sections.push(await section(cluster, index));
  return [
    "# Large runs, worked out",
    "",
    "Written by `UPDATE_DOCS=1 npx mocha test/docs/clusters.test.ts` (`npm run generate`); do not edit.",
    "",
    "What the engine says of runs from 2 to 16,384 GPUs, each with its files. How such runs are counted: [parallel.md](parallel.md).",
    "",
    "- Sizes are GiB of one GPU, at the peak of two optimizer steps. *States* are weights, gradients and optimizer states; *gathered and sent*",
    "  is what is there of other ranks' parts, and buffers to send.",
    "- Ranks of one role hold the same. Stages between the first and the last hold less than the first.",
    "- Buffers of collectives come on top under tensor, context, expert and pipeline parallelism.",
    "- Seconds are from the link's best to its worst, without what hides behind computation ([time-model.md](time-model.md)).",
    "",
    ...sections,
  ].join("\n");
}
