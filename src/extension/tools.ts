/** Language-model tools: read-only questions about a config file, answered by the same analysis as everything else. */
import * as vscode from "vscode";
import { METHODS, type ReportParams, type ReportResult } from "../server/protocol";
import type { Session } from "./session";
import { estimateAnswer, fittingAnswer } from "./toolResult";

interface ToolInput {
  readonly filePath: string;
  readonly device?: string;
  readonly overrides?: Readonly<Record<string, string | number | boolean>>;
}

/** Registers the tools named in package.json; editors without language-model tools are left alone. */
export function registerTools(session: Session): vscode.Disposable {
  // Editors built from VS Code may lack the whole namespace.
  const lm: typeof vscode.lm | undefined = vscode.lm;
  if (typeof lm?.registerTool !== "function") return new vscode.Disposable(() => {});
  return vscode.Disposable.from(
    lm.registerTool("estimate_gpu_memory", new Tool(session, estimateAnswer)),
    lm.registerTool("find_fitting_config", new Tool(session, fittingAnswer)),
  );
}

class Tool implements vscode.LanguageModelTool<ToolInput> {
  constructor(
    private readonly session: Session,
    private readonly answer: (report: ReportResult["report"]) => string,
  ) {}

  prepareInvocation(
    options: vscode.LanguageModelToolInvocationPrepareOptions<ToolInput>,
  ): vscode.PreparedToolInvocation {
    const { t } = vscode.l10n;
    return {
      invocationMessage: t("Estimating GPU memory of {0}", options.input.filePath),
      confirmationMessages: {
        title: t("Estimate GPU memory"),
        message: new vscode.MarkdownString(
          t("Reads `{0}` and the files it refers to. Nothing is written or sent anywhere.", options.input.filePath),
        ),
      },
    };
  }

  async invoke(
    options: vscode.LanguageModelToolInvocationOptions<ToolInput>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    const { filePath, device, overrides } = options.input;
    const uri = resolve(filePath);
    try {
      await vscode.workspace.fs.stat(uri);
    } catch {
      throw new Error(`There is no file ${filePath}. Pass the absolute path of a training config in the workspace.`);
    }
    const set = Object.fromEntries(Object.entries(overrides ?? {}).map(([key, value]) => [key, String(value)]));
    const params: ReportParams = {
      uri: uri.toString(),
      ...(device === undefined ? {} : { device }),
      ...(Object.keys(set).length === 0 ? {} : { set }),
    };
    const result = await this.session.request<ReportResult | null>(METHODS.report, params, token);
    if (result === null) throw new Error("The estimate was cancelled or failed. Try again, or read the VRAM Lens log.");
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(this.answer(result.report))]);
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
