import assert from "node:assert/strict";
import { AgentCardsError } from "../../src/model/errors.ts";
import { startEmbedder } from "../../src/vector/embedder.ts";
import { prepareHubModel } from "../../src/vector/weights/hub.ts";
import type { DownloadProgress } from "../../src/vector/search_port.ts";
import { MODEL, startHub, type TestHub, WIDTH } from "../fixtures/hub.ts";

async function withHub(test: (hub: TestHub, root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "ac-hub-" });
  try {
    await using hub = await startHub();
    await test(hub, root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const get = (hub: Pick<TestHub, "url">, root: string, onProgress: (progress: DownloadProgress) => void = () => {}) =>
  prepareHubModel({ model: MODEL, root, hub: hub.url, onProgress, silenceMs: 5_000 });

Deno.test("a model of the hub is fetched once, with progress, and then loads without the hub", () =>
  withHub(async (hub, root) => {
    const seen: DownloadProgress[] = [];
    const folder = await get(hub, root, (progress) => seen.push(progress));
    assert.equal(folder.pooling, "cls");
    assert.equal(folder.dtype, "fp32", "there is no smaller one");
    const weights = seen.filter(({ file }) => file === "onnx/model.onnx");
    assert.equal(weights.at(-1)!.bytes, hub.files.get("onnx/model.onnx")!.length);
    assert.equal(weights.at(-1)!.of, weights.at(-1)!.bytes);
    const asked = hub.requests.length;
    const embedder = await startEmbedder({ model: MODEL, root, hub: await nobodyThere() });
    const { whole: vector } = await embedder.encode(["hello"], "query");
    embedder.close();
    assert.equal(vector.length, WIDTH);
    assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5);
    assert.equal(hub.requests.length, asked);
  }));

Deno.test("a download that is cut off goes on where it stopped", () =>
  withHub(async (hub, root) => {
    hub.cutAfter = 2_000_000;
    await get(hub, root);
    const continued = hub.requests.filter((request) => request.startsWith("onnx/model.onnx "));
    assert.deepEqual(continued.slice(0, 2), ["onnx/model.onnx bytes=2000000-", "onnx/model.onnx bytes=4000000-"]);
    assert.deepEqual(await Deno.readFile(`${root}/${MODEL}/onnx/model.onnx`), hub.files.get("onnx/model.onnx"));
  }));

Deno.test("what was fetched before the hub changed is not mixed with what comes after", () =>
  withHub(async (hub, root) => {
    hub.cutAfter = 1_000_000;
    await assert.rejects(get(hub, root), /Cannot get the model tests\/tiny-bert/);
    const other = hub.files.get("onnx/model.onnx")!.slice();
    other[2_000_000]! ^= 1;
    hub.files.set("onnx/model.onnx", other);
    hub.cutAfter = undefined;
    await get(hub, root);
    assert.deepEqual(await Deno.readFile(`${root}/${MODEL}/onnx/model.onnx`), other);
  }));

Deno.test("a hub that is out of reach, a model that is not there and one without weights are clear errors", () =>
  withHub(async (hub, root) => {
    const failure = (promise: Promise<unknown>) =>
      promise.then(() => assert.fail("it should fail"), (error) => {
        assert.ok(error instanceof AgentCardsError && error.code === "MODEL_UNUSABLE");
        return `${error.message} ${error.hint}`;
      });
    const away = await failure(get({ url: await nobodyThere() }, root));
    assert.match(away, /Cannot get the model tests\/tiny-bert from http:\/\/127\.0\.0\.1:\d+: .*Check the connection/s);
    hub.files.delete("onnx/model.onnx");
    assert.match(await failure(get(hub, root)), /has no ONNX weights/);
    hub.files.clear();
    assert.match(await failure(get(hub, `${root}/other`)), /has no config\.json/);
  }));

Deno.test("a file that is not what the hub says is refused, one that broke later is fetched again", () =>
  withHub(async (hub, root) => {
    hub.hashes.set("onnx/model.onnx", "0".repeat(64));
    await assert.rejects(get(hub, root), /did not arrive whole/);
    hub.hashes.clear();
    await get(hub, root);
    const file = `${root}/${MODEL}/onnx/model.onnx`;
    await Deno.truncate(file, 2);
    await get(hub, root);
    assert.equal((await Deno.stat(file)).size, hub.files.get("onnx/model.onnx")!.length);
  }));

Deno.test("files that somebody put there by hand are enough, without any hub", () =>
  withHub(async (hub, root) => {
    for (const [name, content] of hub.files) {
      if (name === "1_Pooling/config.json") continue;
      await Deno.mkdir(`${root}/${MODEL}/onnx`, { recursive: true });
      await Deno.writeFile(`${root}/${MODEL}/${name}`, content);
    }
    const folder = await get({ url: await nobodyThere() }, root);
    assert.deepEqual([folder.dtype, folder.pooling], ["fp32", "mean"]);
    assert.deepEqual(hub.requests, []);
  }));

/** An address where a server was a moment ago. */
async function nobodyThere(): Promise<string> {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  listener.close();
  await new Promise((resolve) => setTimeout(resolve, 10));
  return `http://127.0.0.1:${port}`;
}
