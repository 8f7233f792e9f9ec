// deno task e2e:web: the dashboard in a real browser. Pictures for docs/DASHBOARD.md are written with UPDATE_PICTURES=1.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { connectClient } from "../fixtures/client.ts";
import { startDashboard } from "../fixtures/dashboard.ts";
import { createTestHome, endProcess, ROOT, testServer, until } from "../fixtures/gateway.ts";
import { linesOf, run, task } from "../fixtures/workflow.ts";
import { findBrowser, visit } from "./web_browser.ts";

const browser = await findBrowser();
const PAGES = ["now", "runs", "new", "waiting", "servers", "tools", "knowledge", "policy", "audit", "usage"];
const CONFIG = {
  servers: { kit: testServer("kit"), markup: testServer("markup") },
  agents: { helper: { command: "/bin/cat", protocol: "command" } },
  policy: {
    approve: ["kit:append"],
    effects: { "kit:echo": "read", "kit:wait": "read", "kit:add": "read" },
    rules: [{ name: "small_sums", match: ["kit:add"], then: "deny", when: "args.a == 1.0", mode: "observe" }],
  },
};
const AXE = await readFile(new URL(import.meta.resolve("axe-core")), "utf8");

/** Notes in a page how long each event was on its way, by the clock of this machine. */
const HEAR = `import("/page/events.js").then(({ listen }) => {
  globalThis.late = [];
  listen(({ event }) => event && globalThis.late.push(Date.now() - event.at));
})`;

const say = (text: string) => Deno.stdout.write(new TextEncoder().encode(text));

/** Rules of level A and AA that the present page breaks. */
async function violations(page: Page): Promise<string[]> {
  // By the debugger: the policy of the page lets no script of ours in.
  await page.evaluate(AXE);
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: unknown): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const values = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const found = await axe.run({ runOnly: { type: "tag", values } });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 200)}`);
  });
}

const fitsWidth = (page: Page) =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } =
      (globalThis as unknown as { document: { documentElement: { scrollWidth: number; clientWidth: number } } })
        .document.documentElement;
    return scrollWidth <= clientWidth;
  });

if (!browser) {
  Deno.test({ name: "SKIPPED: the dashboard in a browser, there is no Chromium here", fn() {} });
} else {
  Deno.test("the dashboard in a browser", async (test) => {
    await using home = await createTestHome(CONFIG);
    await using client = await connectClient(home);
    await using dashboard = await startDashboard(home);
    const oracle = `${home.dir}/oracle`;
    const first = await run(client, [
      task("fetch", "kit:wait", { ms: 250 }),
      task("rates", "kit:add", { a: 1, b: 2 }),
      task("compare", "kit:echo", { text: "$OUTPUT[fetch] $OUTPUT[rates]" }),
      task("report", "kit:echo", { text: "$OUTPUT[compare]" }),
      task("archive", "kit:echo", { text: "$OUTPUT[fetch]" }),
    ]);
    assert.equal(first.status, "completed", JSON.stringify(first));
    const paused = await run(client, [
      task("text", "kit:echo", { text: "x" }),
      task("publish", "kit:append", { file: oracle, line: "$OUTPUT[text]" }),
    ]);
    for (const name of ["show", "break_it"]) await client.use(`markup:${name}`, {}).catch(() => {});
    await run(client, [task(`bad`, "markup:break_it", {}), task("good", "markup:show", {})]);

    await test.step("every page: no violation of A or AA, no script of a server, no request elsewhere", async () => {
      const paths = [...PAGES, `runs/${first.workflow_id}`, "servers/markup", "servers/kit", "tools/markup%3Ashow"];
      for (const colorScheme of ["light", "dark"] as const) {
        await using tab = await visit(browser, dashboard, { colorScheme, reducedMotion: "reduce" });
        for (const path of paths) {
          await tab.go(path);
          assert.deepEqual(await violations(tab.page), [], `${colorScheme} ${path}`);
        }
        assert.equal(await tab.page.evaluate(() => (globalThis as { hurt?: number }).hurt), undefined);
        assert.equal(await tab.page.locator("main :is(iframe, img, script, a[href^='javascript'])").count(), 0);
        assert.deepEqual(tab.problems, []);
      }
    });

    await test.step("at 390 pixels every page fits", async () => {
      await using tab = await visit(browser, dashboard, { viewport: { width: 390, height: 844 }, hasTouch: true });
      for (const path of [...PAGES, `runs/${first.workflow_id}`, "tools/markup%3Ashow", "servers/kit"]) {
        await tab.go(path);
        assert.ok(await fitsWidth(tab.page), path);
      }
      await tab.page.getByRole("button", { name: /Servers/ }).click();
      await tab.page.getByRole("link", { name: "Audit" }).click();
      await tab.page.getByRole("heading", { name: "Audit" }).waitFor();
      assert.deepEqual(tab.problems, []);
    });

    await test.step("a run as graph, timeline, tasks and events", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.go(`runs/${first.workflow_id}`);
      await tab.page.locator(".node").first().waitFor();
      assert.equal(await tab.page.locator(".node").count(), 5);
      assert.ok(await tab.page.locator(".node.critical").count() >= 2);
      await picture(tab.page, "run");
      await tab.page.getByRole("tab", { name: "Timeline" }).click();
      assert.equal(await tab.page.locator(".grid-row .span").count(), 5);
      await tab.page.getByRole("tab", { name: "Timeline" }).press("ArrowRight");
      await tab.page.getByRole("table", { name: "Tasks" }).waitFor();
      await tab.page.getByRole("link", { name: "report" }).click();
      await tab.page.getByRole("dialog").getByText(/kit: kit: waited/).first().waitFor();
      await tab.page.keyboard.press("Escape");
      await tab.page.getByRole("dialog").waitFor({ state: "detached" });
      assert.deepEqual(tab.problems, []);
    });

    await test.step("a run goes on before one's eyes", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.go("now");
      const going = run(client, [
        task("one", "kit:wait", { ms: 1_500 }),
        task("two", "kit:echo", { text: "$OUTPUT[one]" }),
      ]);
      await tab.page.locator(".cards .busy").first().waitFor();
      await tab.page.locator(".cards li", { has: tab.page.locator(".busy") }).getByRole("link").first().click();
      await tab.page.locator(".node.running").waitFor();
      const answer = await going;
      await tab.page.locator(".title .good").waitFor({ timeout: 2_000 });
      assert.equal(await tab.page.locator(".node.success").count(), 2);
      assert.ok(tab.page.url().includes(answer.workflow_id));
      assert.deepEqual(tab.problems, []);
    });

    await test.step("an approval by keyboard goes to exactly the call that was shown", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.go("waiting");
      const card = tab.page.locator(".card", { hasText: paused.workflow_id });
      await card.getByText('"line": "kit: x"').waitFor();
      await picture(tab.page, "waiting");
      assert.deepEqual(await linesOf(oracle), []);
      await card.getByRole("button", { name: "Allow once" }).focus();
      await tab.page.keyboard.press("Enter");
      await until("the call went out", async () => (await linesOf(oracle)).length === 2, 30_000);
      await card.waitFor({ state: "detached" });
      assert.deepEqual(await linesOf(oracle), ["begin kit: x", "end kit: x"]);
      assert.deepEqual(tab.problems, []);
    });

    await test.step("a tool is found, called by a form, and its question answered; markup stays text", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.go("tools");
      await tab.page.getByRole("searchbox").fill("adds two numbers");
      await tab.page.locator(".hits").getByRole("link", { name: "kit:add" }).click();
      await tab.page.getByRole("button", { name: "Call", exact: true }).click();
      await tab.page.getByText("Some fields need another look").waitFor();
      await tab.page.getByLabel("a", { exact: true }).fill("40");
      await tab.page.getByLabel("b", { exact: true }).fill("2");
      await tab.page.keyboard.press("Enter");
      await tab.page.getByRole("region", { name: "structured content" }).getByText('"sum": 42').waitFor();
      await tab.go("tools/markup%3Aask");
      await tab.page.getByRole("button", { name: "Call", exact: true }).click();
      const dialog = tab.page.getByRole("dialog");
      await dialog.getByText("<img src=x").first().waitFor();
      assert.deepEqual(await violations(tab.page), []);
      await dialog.getByRole("textbox").fill("forty-two");
      await dialog.getByRole("button", { name: "Answer", exact: true }).click();
      await tab.page.getByRole("region", { name: "text" }).getByText("forty-two").waitFor();
      assert.equal(await tab.page.evaluate(() => (globalThis as { hurt?: number }).hurt), undefined);
      assert.deepEqual(tab.problems, []);
    });

    await test.step("YAML is checked while it is typed, and runs", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.go("new");
      const editor = tab.page.getByRole("textbox", { name: "Tasks" });
      await editor.fill("tasks:\n  - { id: a, tool: kit:echo, argments: {} }\n");
      await tab.page.getByText(/argments/).last().waitFor();
      assert.ok(await tab.page.getByRole("button", { name: "Run" }).isDisabled());
      await editor.fill("tasks:\n  - { id: a, tool: kit:echo, arguments: { text: hello } }\n");
      await tab.page.getByRole("button", { name: "Run" }).click();
      await tab.page.locator(".node.success").waitFor();
      assert.deepEqual(tab.problems, []);
    });

    await test.step("a prompt goes to an agent, and its run is shown", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.go("new");
      await tab.page.getByLabel("Agent", { exact: true }).selectOption("helper");
      await tab.page.getByLabel("Prompt").fill("say <b>nothing</b>");
      await tab.page.getByRole("button", { name: "Ask it" }).click();
      await tab.page.locator(".node.success").waitFor();
      await tab.page.getByRole("tab", { name: "Tasks" }).click();
      await tab.page.getByRole("link", { name: "agent", exact: true }).click();
      await tab.page.getByRole("dialog").getByText("say <b>nothing</b>").first().waitFor();
      assert.deepEqual(tab.problems, []);
    });

    await test.step("rules are shown, and past calls judged by them", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.go("policy");
      await tab.page.getByRole("row", { name: /small_sums \(observes\) deny kit:add args\.a == 1\.0/ }).waitFor();
      await tab.page.getByRole("button", { name: "Replay" }).click();
      await tab.page.getByText(/Of \d+ calls the rules would refuse 0 and ask about \d/).waitFor();
      await tab.page.getByText(/Rules that only observe have [1-9]/).waitFor();
      assert.deepEqual(await violations(tab.page), []);
      assert.deepEqual(tab.problems, []);
    });

    await test.step("an undo is looked at before it is made", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.go(`runs/${first.workflow_id}`);
      await tab.page.getByRole("button", { name: "Undo its files…" }).click();
      await tab.page.locator("dialog, main [role=alert]").first().waitFor();
      assert.deepEqual(await violations(tab.page), []);
      await tab.page.keyboard.press("Escape");
      assert.deepEqual(tab.problems, []);
    });

    await test.step("an event reaches the page soon after it is journalled", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.go("now");
      await tab.page.locator(".link.open").waitFor({ state: "attached" });
      await tab.page.evaluate(HEAR);
      await run(client, Array.from({ length: 20 }, (_, i) => task(`t${i}`, "kit:wait", { ms: 20 * i })));
      const heard = () => tab.page.evaluate(() => (globalThis as unknown as { late: number[] }).late);
      await until("the end of the run", async () => (await heard()).length >= 40, 10_000);
      const late = (await heard()).sort((a, b) => a - b);
      const p95 = late[Math.floor(0.95 * late.length)]!;
      await say(`${late.length} events: p50 ${late[late.length >> 1]} ms, p95 ${p95} ms, at most ${late.at(-1)} ms\n`);
      assert.ok(p95 <= 200, `p95 is ${p95} ms`);
      assert.deepEqual(tab.problems, []);
    });

    await test.step("servers are started and stopped, the audit is verified, figures are there", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.go("servers/kit");
      await tab.page.getByRole("button", { name: "Start and read its tools" }).click();
      await tab.page.getByText(/It started in/).waitFor();
      await tab.page.getByRole("button", { name: "Stop" }).click();
      await tab.page.getByText(/It was (?:stopped|not running)/).waitFor();
      await tab.go("audit");
      await tab.page.getByRole("button", { name: "Verify" }).click();
      await tab.page.getByText(/nothing was changed, added or removed/).waitFor();
      await tab.go("usage");
      await tab.page.getByRole("row", { name: /kit:echo/ }).waitFor();
      await picture(tab.page, "usage");
      const { code, stdout } = await home.run(["stats", "--json"]);
      const report = JSON.parse(stdout);
      assert.equal(code, 0);
      assert.ok(
        report.tools.some(({ name, calls }: { name: string; calls: number }) => name === "kit:echo" && calls > 3),
      );
      assert.ok(report.total.tokens_kept >= 0 && report.context.direct_tokens > report.context.own_tokens);
      assert.match((await home.run(["stats", "kit:*"])).stdout, /kit:echo +\d/);
      assert.deepEqual(tab.problems, []);
    });

    await test.step("a thousand tasks are drawn as far as they are in sight, and an engine is killed under the page", async () => {
      await using tab = await visit(browser, dashboard);
      const many = Array.from({ length: 1_000 }, (_, i) => task(`t${i}`, "kit:add", { a: i, b: 1 }));
      const { workflow_id } = await run(client, many);
      await tab.go(`runs/${workflow_id}`);
      await tab.page.locator(".node").first().waitFor();
      assert.ok(await tab.page.locator(".node").count() < 100);
      await tab.page.getByRole("tab", { name: "Tasks" }).click();
      const list = tab.page.getByRole("rowgroup", { name: "Tasks" });
      await list.evaluate((element: { scrollTop: number; scrollHeight: number }) => {
        element.scrollTop = element.scrollHeight;
      });
      await tab.page.getByRole("link", { name: "t999" }).waitFor();
      assert.ok(await tab.page.locator(".grid-row").count() < 100);

      const pid = (await home.enginePid())!;
      await endProcess(pid, "SIGKILL");
      await until("there is another engine", async () => ![undefined, pid].includes(await home.enginePid()), 20_000);
      await tab.page.locator(".link.open").waitFor({ state: "attached", timeout: 20_000 });
      await run(client, [task("after", "kit:echo", { text: "again" })]);
      await tab.go("now");
      await tab.page.getByText(/1 task,/).first().waitFor();
      await picture(tab.page, "now");
      assert.deepEqual(tab.problems, []);
    });

    await test.step("the first page is light and quick", async () => {
      await using tab = await visit(browser, dashboard);
      await tab.page.reload();
      await tab.page.locator(".figures").waitFor();
      const { bytes, paint } = await tab.page.evaluate(() => {
        const entries = performance.getEntriesByType("resource") as unknown as { transferSize: number; name: string }[];
        const painted = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
        return { bytes: entries.reduce((sum, { transferSize }) => sum + transferSize, 0), paint: painted };
      });
      await say(`Now: ${Math.round(bytes / 1_000)} kB, first paint after ${Math.round(paint)} ms\n`);
      assert.ok(bytes <= 250_000, String(bytes));
    });
    await browser.close();
  });
}

/** Writes a picture for the documentation, where it is asked for. */
async function picture(page: Page, name: string): Promise<void> {
  if (Deno.env.get("UPDATE_PICTURES") !== "1") return;
  await page.setViewportSize({ width: 1000, height: 620 });
  await page.screenshot({ path: `${ROOT}docs/pictures/${name}.png` });
  await page.setViewportSize({ width: 1280, height: 800 });
}
