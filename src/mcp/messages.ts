/**
 * Model Context Protocol over standard streams: one JSON-RPC 2.0 message a line (specification of 2025-06-18, "stdio").
 * Only what a server of tools needs: `initialize`, `ping`, `tools/list`, `tools/call`.
 */
import * as z from "zod";
import { nearNames } from "../analysis/linking/asked";
import { withNear } from "../analysis/pins/complaints";
import { jsonOf } from "../terms/json";

/** Versions this server speaks, newest first. */
const PROTOCOL_VERSIONS = ["2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** Codes of JSON-RPC 2.0. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

export interface ToolResult {
  /** What the model reads when its client knows no structured results. */
  readonly text: string;
  readonly structured?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** One tool: its description for the model, its input, and what it does. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly call: (input: unknown) => Promise<ToolResult>;
}

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly instructions: string;
}

const requestSchema = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
});

type Answer = { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } };

function refuse(code: number, message: string): Answer {
  return { error: { code, message } };
}

/** `/a/0: expected string`, the first complaint of a failed check; a misspelt name is told the nearest of those that are known. */
function complaint(error: z.ZodError, known: readonly string[] = []): string {
  const [issue] = error.issues;
  if (issue?.code === "unrecognized_keys") {
    const [name = ""] = issue.keys;
    return withNear(`no argument called "${name}"`, nearNames(name, known), "en");
  }
  return issue === undefined ? "invalid input" : `${issue.path.join(".") || "input"}: ${issue.message}`;
}

function initialize(info: ServerInfo, params: Readonly<Record<string, unknown>>): Answer {
  const wanted = params["protocolVersion"];
  const protocolVersion = PROTOCOL_VERSIONS.find((version) => version === wanted) ?? PROTOCOL_VERSIONS[0];
  const { name, version, instructions } = info;
  return { result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name, version }, instructions } };
}

function describe(tool: Tool): object {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: z.toJSONSchema(tool.input, { io: "input" }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
}

async function callTool(tools: readonly Tool[], params: Readonly<Record<string, unknown>>): Promise<Answer> {
  const tool = tools.find((one) => one.name === params["name"]);
  if (tool === undefined) return refuse(INVALID_PARAMS, `no tool "${String(params["name"])}"`);
  const input = tool.input.safeParse(params["arguments"] ?? {});
  if (!input.success) return refuse(INVALID_PARAMS, complaint(input.error, Object.keys(tool.input.shape)));
  const { text, structured, isError } = await tool.call(input.data);
  return {
    result: {
      content: [{ type: "text", text }],
      ...(structured === undefined ? {} : { structuredContent: structured }),
      ...(isError === true ? { isError } : {}),
    },
  };
}

async function answer(
  info: ServerInfo,
  tools: readonly Tool[],
  request: z.infer<typeof requestSchema>,
): Promise<Answer> {
  const params = request.params ?? {};
  switch (request.method) {
    case "initialize":
      return initialize(info, params);
    case "ping":
      return { result: {} };
    case "tools/list":
      return { result: { tools: tools.map(describe) } };
    case "tools/call":
      return callTool(tools, params);
    default:
      return refuse(METHOD_NOT_FOUND, `unknown method "${request.method}"`);
  }
}

/**
 * Answers one line of input.
 *
 * @returns the line to write, or undefined for a notification, which has no answer
 */
export async function answerLine(info: ServerInfo, tools: readonly Tool[], line: string): Promise<string | undefined> {
  const message = (id: string | number | null, body: Answer): string => JSON.stringify({ jsonrpc: "2.0", id, ...body });
  const data = jsonOf(line);
  if (data === undefined) return message(null, refuse(PARSE_ERROR, "not JSON"));
  const request = requestSchema.safeParse(data);
  if (!request.success) return message(null, refuse(INVALID_REQUEST, complaint(request.error)));
  const { id } = request.data;
  if (id === undefined) return undefined;
  return message(id, await answer(info, tools, request.data));
}
