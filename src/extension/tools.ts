/** Language-model tools: read-only questions about a config file, answered by the same analysis as everything else. */
import * as vscode from "vscode";
import type { ToolInput, ToolName } from "../core/report/tools";
import { METHODS, type ToolParams, type ToolReply } from "../server/protocol";
import { inCode } from "../words/printable";
import type { Session } from "./session";
import { t } from "./words";

/** Registers the tools named in package.json; editors without language-model tools are left alone. */
export function registerTools(session: Session): vscode.Disposable {
  // Editors built from VS Code may lack the whole namespace.
  const lm: typeof vscode.lm | undefined = vscode.lm;
  if (typeof lm?.registerTool !== "function") return new vscode.Disposable(() => {});
  return vscode.Disposable.from(
    lm.registerTool("estimate_gpu_memory", new Tool(session, "estimate_gpu_memory")),
    lm.registerTool("find_fitting_config", new Tool(session, "find_fitting_config")),
  );
}

class Tool implements vscode.LanguageModelTool<ToolInput> {
  constructor(
    private readonly session: Session,
    private readonly name: ToolName,
  ) {}

  prepareInvocation(
    options: vscode.LanguageModelToolInvocationPrepareOptions<ToolInput>,
  ): vscode.PreparedToolInvocation {
    return {
      invocationMessage: t("estimatingOf", options.input.path),
      confirmationMessages: {
        title: t("estimateGpuMemory"),
        message: new vscode.MarkdownString(t("toolReads", inCode(options.input.path))),
      },
    };
  }

  async invoke(
    options: vscode.LanguageModelToolInvocationOptions<ToolInput>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    const asked = options.input;
    const uri = resolve(asked.path);
    const stat = await Promise.resolve(vscode.workspace.fs.stat(uri)).catch(() => undefined);
    if (stat === undefined)
      throw new Error(`There is no file ${asked.path}. Pass the path of a training config in the workspace.`);
    const params: ToolParams = { uri: uri.toString(), name: this.name, asked };
    const answer = await this.session.request<ToolReply | null>(METHODS.tool, params, token);
    if (answer === null) throw new Error("The estimate was cancelled or failed. Try again, or read the VRAM Lens log.");
    if (answer.refused) throw new Error(answer.text);
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(answer.text)]);
  }
}

/** A URI, an absolute path, or a path below the first workspace folder. */
function resolve(filePath: string): vscode.Uri {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(filePath)) return vscode.Uri.parse(filePath);
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const isAbsolute = /^([/\\]|[a-z]:[/\\])/i.test(filePath);
  if (!isAbsolute && folder !== undefined) return vscode.Uri.joinPath(folder, filePath);
  if (folder === undefined || folder.scheme === "file") return vscode.Uri.file(filePath);
  return folder.with({ path: filePath });
}
