// deno task e2e:web: the undo of a run in a real browser.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { startDashboard } from "../fixtures/dashboard.ts";
import { createTestHome, testServer } from "../fixtures/gateway.ts";
import { createRepository } from "../fixtures/repository.ts";
import { run, task } from "../fixtures/workflow.ts";
import { findBrowser, visit } from "./web_browser.ts";

const browser = await findBrowser();

Deno.test({
  name: "a run is undone on its page, after a look at what would change",
  ignore: !browser,
  async fn() {
    await using repository = await createRepository({ "a.txt": "one\n" });
    await using home = await createTestHome({ servers: { files: { ...testServer("files"), cwd: repository.dir } } });
    await using client = await connectClient(home, { cwd: repository.dir });
    const steps = [{ do: "write", path: "a.txt", text: "<b>two</b>\n" }, { do: "write", path: "new.txt", text: "new" }];
    const { workflow_id } = await run(client, [task("edit", "files:change", { steps })]);
    await using dashboard = await startDashboard(home);
    await using tab = await visit(browser!, dashboard);
    await tab.go(`runs/${workflow_id}`);
    await tab.page.getByRole("button", { name: "Undo its files…" }).click();
    const dialog = tab.page.getByRole("dialog");
    await dialog.getByText("remove new.txt").waitFor();
    await dialog.getByText("-<b>two</b>").waitFor();
    assert.equal(await Deno.readTextFile(`${repository.dir}/a.txt`), "<b>two</b>\n", "a look changes nothing");
    await dialog.getByRole("button", { name: "Put them back" }).click();
    await dialog.getByText("The files are as before the run").waitFor();
    assert.equal(await Deno.readTextFile(`${repository.dir}/a.txt`), "one\n");
    assert.deepEqual(tab.problems, []);
    await browser!.close();
  },
});
