import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import type { TestDashboard } from "../fixtures/dashboard.ts";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--enable-unsafe-swiftshader",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The browser of this machine; undefined where there is none. */
export async function findBrowser(): Promise<Browser | undefined> {
  const executablePath = PLACES.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
  return executablePath === undefined ? undefined : await chromium.launch({ executablePath, args: FLAGS });
}

/** A page that was let in, and what went wrong on it. */
export interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** Errors of scripts, violations of the policy, and requests that left for elsewhere. */
  readonly problems: string[];
  go(path: string): Promise<void>;
}

/** Opens the dashboard in a new tab and types its digits at the terminal. */
export async function visit(
  browser: Browser,
  dashboard: TestDashboard,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  const { origin } = new URL(dashboard.url);
  page.on("pageerror", (error) => problems.push(`script: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    // An engine that is killed breaks off what it was asked; the page says so itself.
    if (message.type() === "error" && !/status of 400|ERR_INCOMPLETE|ERR_ABORTED/.test(text)) problems.push(text);
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) problems.push(`request: ${request.url()}`);
  });
  await page.goto(dashboard.url);
  const digits = await page.locator(".digits").textContent();
  await dashboard.type(digits!.replaceAll(/\s/g, ""));
  await page.locator("nav").waitFor({ state: "attached" });
  return {
    page,
    problems,
    async go(path) {
      await page.goto(`${dashboard.url}#/${path}`);
      await page.locator("main h1").waitFor();
      await page.waitForTimeout(400);
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}
