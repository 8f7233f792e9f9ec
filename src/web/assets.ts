import { fs } from "../platform/start.ts";
import { fileURLToPath } from "node:url";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** The files of packages that pages load, each beside the file that a package names as its own. */
const LIBRARIES: Readonly<Record<string, () => URL>> = {
  "preact.js": () => new URL("../preact/standalone.module.js", import.meta.resolve("htm")),
  "uplot.js": () => new URL("./uPlot.iife.min.js", import.meta.resolve("uplot")),
  "uplot.css": () => new URL("./uPlot.min.css", import.meta.resolve("uplot")),
  "dagre.js": () => new URL("./dagre.esm.js", import.meta.resolve("@dagrejs/dagre")),
  "graphology.js": () => new URL("./graphology.umd.min.js", import.meta.resolve("graphology")),
  "sigma.js": () => new URL("./sigma.min.js", import.meta.resolve("sigma")),
};

const OWN = /^[a-z][a-z0-9_]*(?:\/[a-z][a-z0-9_]*)?\.(?:js|css|svg)$/;

/** Reads the files of the page; each is read once, so that an update on the disk does not mix with what is open. */
export function createAssets(): (path: string) => Promise<Response | undefined> {
  const kept = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  return async (path) => {
    const place = placeOf(path);
    if (!place) return undefined;
    if (!kept.has(place.href)) kept.set(place.href, fs.readFile(fileURLToPath(place)));
    try {
      const type = TYPES[place.pathname.split(".").at(-1)!]!;
      return new Response(await kept.get(place.href)!, { headers: { "content-type": type } });
    } catch (error) {
      kept.delete(place.href);
      if (fs.isNotFound(error)) return undefined;
      throw error;
    }
  };
}

function placeOf(path: string): URL | undefined {
  if (path === "/") return new URL("./page/index.html", import.meta.url);
  const [, folder, file = ""] = /^\/(lib|page)\/(.+)$/.exec(path) ?? [];
  if (folder === "lib") return Object.hasOwn(LIBRARIES, file) ? LIBRARIES[file]!() : undefined;
  return folder === "page" && OWN.test(file) ? new URL(`./page/${file}`, import.meta.url) : undefined;
}
