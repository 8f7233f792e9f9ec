// deno task package-json: copies name and version of deno.json, where versions live, into package.json.
const [from, to] = ["../deno.json", "../package.json"].map((path) => new URL(path, import.meta.url));
const { name, version } = JSON.parse(await Deno.readTextFile(from!));
const facts = JSON.parse(await Deno.readTextFile(to!));
await Deno.writeTextFile(to!, `${JSON.stringify({ ...facts, name, version }, null, 2)}\n`);
