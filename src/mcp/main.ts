/** The Model Context Protocol server as a process, over standard input and output: `node dist/mcp.js`. */
import { createInterface } from "node:readline";
import { createAnalyzer } from "../analysis";
import { alwaysExit } from "../host/deadline";
import { createNodeRuntime } from "../host/node";
import { answerLine, type ServerInfo } from "./messages";
import { createTools } from "./tools";

const version = process.env["VRAM_LENS_VERSION"] ?? "development";
const info: ServerInfo = {
  name: "vram-lens",
  version,
  instructions: "Tells whether a training config fits on its GPU and which smallest change makes it fit.",
};

const runtime = createNodeRuntime({
  workspaceFolders: [process.cwd()],
  packageDirectory: __dirname,
  env: process.env,
});

alwaysExit();

createInterface({ input: process.stdin, terminal: false }).on("line", (line) => {
  if (line.trim() === "") return;
  // A new analysis for each request, as files may have changed since the last one.
  const tools = createTools({ analyzer: createAnalyzer(runtime), files: runtime.files, cwd: process.cwd(), version });
  answerLine(info, tools, line).then(
    (answered) => {
      if (answered !== undefined) process.stdout.write(`${answered}\n`);
    },
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    },
  );
});
