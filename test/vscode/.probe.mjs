import { launch } from "./lib/browser.mjs";
import { startServer, temporaryCopy, windowUrl } from "./lib/server.mjs";
import { Workbench, eventually } from "./lib/workbench.mjs";
const folder = temporaryCopy("/work/main/samples");
const server = await startServer({ settings: { "vramlens.device": "RTX 4090", ...(process.env.S ? JSON.parse(process.env.S) : {}) } });
const browser = await launch();
try {
  const w = await Workbench.open(browser, windowUrl(server, { folder, extension: "/tmp/ext" }));
  w.page.on("console", (m) => { if (/vram|Error/i.test(m.text())) console.log("CONSOLE", m.text().slice(0, 300)); });
  await w.openFile("llama-1b/train.yaml");
  const status = await eventually("status", async () => { const t = await w.page.locator(".part.statusbar").textContent(); return /GiB/.test(t) && /\d/.test(t.match(/.{0,20}GiB/)[0]) && t; });
  console.log("STATUS", status);
  await eventually("squiggle", async () => (await w.squiggles()) > 0).catch((e) => console.log(String(e)));
  await w.screenshot("/tmp/shot1.png");
  await w.command("VRAM Lens: Open Panel");
  const panel = await w.webview("#app").catch((e) => console.log(String(e)));
  await new Promise((r) => setTimeout(r, 6000));
  if (panel) console.log("PANEL", (await panel.locator("body").innerText()).slice(0, 1500));
  await w.screenshot("/tmp/shot2.png");
  if (process.argv[2]) { const m = await import(process.argv[2]); await m.default(w, panel, eventually); }
} catch (e) { console.log(e); }
finally { await browser.close(); await server.stop(); }
