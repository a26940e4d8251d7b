/** What the built language server keeps in memory. */
import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { LanguageClient } from "./client";

/** Milliseconds after which a thread that nobody asks anything has given back what it no longer needs (`apart/thread.ts`). */
const RESTED = 7000;

const OPENED = [
  "llama-1b/train.yaml",
  "qwen2.5-7b-lora/train.yaml",
  "llama-8b-zero3/train.json",
  "gpt2-scratch/train.yaml",
];

/**
 * Resident bytes of a tree's language server some time after it analysed every sample.
 *
 * @param environment variables that the extension of that tree starts it with
 */
export async function serverMemory(tree: string, environment: Readonly<Record<string, string>>): Promise<number> {
  const child = spawn(process.execPath, [join(tree, "dist", "server.js"), "--stdio"], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { ...process.env, ...environment },
  });
  try {
    const client = new LanguageClient(child.stdout, child.stdin);
    const folder = join(tree, "samples");
    await client.initialize(folder);
    for (const path of OPENED) await client.openAndWait(join(folder, path));
    await new Promise((resolve) => setTimeout(resolve, RESTED));
    const kib = Number(execFileSync("ps", ["-o", "rss=", "-p", String(child.pid)], { encoding: "utf8" }).trim());
    return kib * 1024;
  } finally {
    child.kill();
  }
}
