/**
 * Running the extension as a web extension: its browser entry in the page's own extension host, its server in a Web
 * Worker, every file read through the editor.
 *
 * A VS Code server always has an extension host of its own and would run the other entry. So the page is told of one
 * more built-in extension at an http address, which only a browser can run, and requests to that address are answered
 * from disk. (Given by its remote address the extension would start, but VS Code lets no remote extension make workers.)
 */
import { existsSync } from "node:fs";
import { extname, join } from "node:path";

const FOLDER = "/web-extension";
const TYPES = { ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".png": "image/png" };

/** Prepares a browser context; `extension` is the folder of the staged extension. */
export async function asWebExtension(context, server, extension) {
  const isServer = (url) => url.port === String(server.port);
  await context.route(
    (url) => isServer(url) && url.pathname === "/",
    async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace(
        /(id="vscode-workbench-web-configuration" data-settings=")([^"]*)"/,
        (_, start, settings) => {
          const configuration = JSON.parse(settings.replaceAll("&quot;", '"').replaceAll("&amp;", "&"));
          const authority = `127.0.0.1:${server.port}`;
          configuration.additionalBuiltinExtensions = [{ scheme: "http", authority, path: FOLDER }];
          return `${start}${JSON.stringify(configuration).replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"`;
        },
      );
      await route.fulfill({ response, body });
    },
  );
  await context.route(
    (url) => isServer(url) && url.pathname.startsWith(`${FOLDER}/`),
    (route) => {
      const path = join(extension, decodeURIComponent(new URL(route.request().url()).pathname.slice(FOLDER.length)));
      if (!existsSync(path)) return route.fulfill({ status: 404 });
      const contentType = TYPES[extname(path)] ?? "application/octet-stream";
      return route.fulfill({ path, contentType, headers: { "access-control-allow-origin": "*" } });
    },
  );
}
