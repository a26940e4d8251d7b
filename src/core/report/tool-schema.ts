/** What the tools of language models are asked: one schema for the editor and the model-context server. */
import * as z from "zod";

const DEVICE =
  "GPU by name (RTX 4090, A100-80GB), several (8xH100), a slice (H100 MIG 3g.40gb), a cloud machine (p4d.24xlarge) or a size (24GB). Default: what the files and settings name.";

/** What is asked of both tools. */
export const toolInput = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe("Training config (YAML, JSON, TOML, shell script, Python, notebook), or a folder of them"),
  device: z.string().optional().describe(DEVICE),
  devices: z.number().int().positive().optional().describe("Number of GPUs when nothing else says it"),
  set: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .optional()
    .describe("Values to try instead of the files', by key: { micro_batch_size: 4 }. Nothing is written."),
});

export type ToolInput = z.infer<typeof toolInput>;

/** JSON Schema of what is asked, as the manifest and the server list it. */
export function toolInputSchema(): object {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(toolInput, { io: "input" }) as Record<string, unknown>;
  return schema;
}
