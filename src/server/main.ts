/** Entry of the language server, one program: a Node process, or a Web Worker where there is no Node (vscode.dev). */
import { inNode } from "../terms/place";

void (inNode() ? import("./node") : import("./browser"));
