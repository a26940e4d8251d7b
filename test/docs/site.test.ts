/** The pages of the site: every link leads to a page, a file or into the repository, and every document is in the bar at the side. */
import { strict as assert } from "node:assert";
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { REPOSITORY } from "../../src/terms/address";

const root = join(__dirname, "..", "..");

interface Pages {
  readonly ASSETS: Readonly<Record<string, string>>;
  readonly MENU: Readonly<Record<string, readonly (readonly [string, string])[]>>;
  documents(root: string): readonly string[];
  pages(root: string): readonly { readonly name: string; readonly html: string }[];
}

/** Made elsewhere than from a document. */
const MADE = new Set(["site.css", "try/index.html"]);

describe("site", () => {
  let site: Pages;
  before(async () => {
    site = (await import("../../scripts/pages.mjs" as string)) as Pages;
  });

  it("has every document but single findings in the bar at the side", () => {
    const named = new Set(Object.values(site.MENU).flatMap((entries) => entries.map(([path]) => path)));
    const left = site.documents(root).filter((path) => !path.startsWith("docs/findings/") && !named.has(path));
    assert.deepEqual(left, ["README.md", "README.zh-CN.md"]);
    for (const path of named) assert.ok(existsSync(join(root, path)), path);
  });

  it("leads nowhere that is not there", () => {
    const pages = new Map(site.pages(root).map(({ name, html }) => [name, html]));
    const anchors = (name: string) =>
      new Set([...(pages.get(name) ?? "").matchAll(/id="([^"]+)"/g)].map(([, id]) => id));
    const known = new Map([...pages.keys()].map((name) => [name, anchors(name)]));
    const there = (name: string): boolean => {
      const asset = Object.entries(site.ASSETS).some(
        ([folder, at]) => name.startsWith(at) && existsSync(join(root, folder, name.slice(at.length))),
      );
      return pages.has(name) || MADE.has(name) || asset;
    };
    const dead: string[] = [];
    for (const [name, html] of pages) {
      for (const [, link = ""] of html.matchAll(/(?:href|src)="([^"]+)"/g)) {
        if (link.startsWith(`${REPOSITORY}/`)) {
          const path = decodeURIComponent(link.slice(REPOSITORY.length)).replace(/^\/(?:blob|tree)\/main\/|#.*$/g, "");
          if (/^\/(?:blob|tree)\//.test(link.slice(REPOSITORY.length)) && !existsSync(join(root, path)))
            dead.push(`${name}: ${link}`);
        } else if (!/^[a-z]+:/.test(link)) {
          const [to = "", hash] = link.split("#");
          const target = to === "" ? name : posix.join(posix.dirname(name), to);
          if (!there(target) || (hash !== undefined && !known.get(target)?.has(hash))) dead.push(`${name}: ${link}`);
        }
      }
    }
    assert.deepEqual(dead, []);
  });
});
