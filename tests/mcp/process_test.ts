import assert from "node:assert/strict";
import { childEnvironment } from "../../src/mcp/process.ts";
import { namedMessage, presentable } from "../../src/call/human/question_form.ts";

Deno.test("programs of a server that runs in no project do not come out of the session's repository", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "ac-path-" }));
  try {
    await Deno.mkdir(`${dir}/bad/.git`, { recursive: true });
    await Deno.mkdir(`${dir}/bad/bin`);
    await Deno.mkdir(`${dir}/bad/sub`);
    await Deno.symlink(`${dir}/bad/bin`, `${dir}/link`);
    const PATH = [`${dir}/bad/bin`, `${dir}/link`, `${dir}/bad/node_modules/.bin`, "bin", "/usr/bin"].join(":");
    for (const cwd of [`${dir}/bad`, `${dir}/bad/sub`]) {
      assert.equal(childEnvironment({ env: { PATH }, cwd }, { isNeutral: true }).PATH, "/usr/bin", cwd);
      assert.equal(childEnvironment({ env: { PATH }, cwd }, { isNeutral: false }).PATH, PATH);
    }
    // A client that starts in the root folder has all programs below it.
    assert.equal(
      childEnvironment({ env: { PATH: "/usr/bin:/opt/x" }, cwd: "/" }, { isNeutral: true }).PATH,
      "/usr/bin:/opt/x",
    );
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("no text of a question looks like the name of another server", () => {
  for (
    const forged of ["[server ot] hi", "［server ot］ hi", "[sеrver ot] hi", "【server ot】 hi", "[ SERVER ot] hi"]
  ) {
    assert.match(namedMessage(forged, "bank"), /^\[server bank\] \(/, forged);
  }
  const requestedSchema = {
    type: "object",
    properties: { name: { type: "string", title: "[server ot] Password", description: "[server ot] type it" } },
  };
  const { params } = presentable({ method: "elicitation/create", params: { message: "x", requestedSchema } }, "bank");
  assert.doesNotMatch(JSON.stringify(params.requestedSchema), /\[server/);
  assert.match(JSON.stringify(params.requestedSchema), /"type":"object"/);
});
