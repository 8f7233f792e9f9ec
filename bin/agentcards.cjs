#!/usr/bin/env node
// The command `agentcards` of the npm package: starts the program with the Deno that was installed beside it. Entries in
// clients' files name that Deno and `main.js` themselves and start without this file.
"use strict";
const { existsSync, readFileSync } = require("node:fs");
const { dirname, join } = require("node:path");

const PLATFORM = `${process.platform}-${process.arch}`;
const DENO_PACKAGE = `@deno/${PLATFORM}${process.platform === "linux" ? "-glibc" : ""}`;
/** Windows programs have no name without it. */
const EXE = process.platform === "win32" ? ".exe" : "";
const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP"];

/** The folder of a package that is installed for another one, wherever npm has put it. */
function folderOf(name, from) {
  return dirname(require.resolve(`${name}/package.json`, { paths: [from] }));
}

/** The folder of the program: this package's own, or that of the package for this platform. */
function programFolder() {
  const own = join(__dirname, "..");
  if (existsSync(join(own, "main.js"))) return own;
  try {
    return folderOf(`agentcards-${PLATFORM}`, own);
  } catch {
    throw new Error(
      `AgentCards has no package for ${PLATFORM}, or npm did not install it (agentcards-${PLATFORM}). ` +
        "Install it again, without --omit=optional.",
    );
  }
}

/** Deno's program, in a package of npm that needs no install script. */
function denoProgram(folder) {
  try {
    return join(folderOf(DENO_PACKAGE, folder), `deno${EXE}`);
  } catch {
    throw new Error(
      `AgentCards runs on Deno, and its package ${DENO_PACKAGE} is not installed. ` +
        "Install AgentCards again, without --omit=optional; where the C library is musl there is no Deno on npm.",
    );
  }
}

/** Answers that are the same each time are given without starting Deno. */
function answerAtOnce(folder, args) {
  if (args.length !== 1) return false;
  if (args[0] === "--version") {
    process.stdout.write(`${JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version}\n`);
    return true;
  }
  if (args[0] !== "--help" && args[0] !== "-h") return false;
  process.stdout.write(readFileSync(join(folder, "help.txt")));
  return true;
}

function start(folder, args) {
  const { spawn } = require("node:child_process");
  const deno = denoProgram(folder);
  const words = [
    "run",
    "--allow-all",
    "--no-prompt",
    "--quiet",
    "--cached-only",
    "--frozen",
    "--config",
    join(folder, "deno.json"),
    join(folder, "main.js"),
  ];
  const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1" };
  const child = spawn(deno, [...words, ...args], { stdio: "inherit", env });
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(`Cannot start ${deno}: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    for (const name of FORWARDED) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

try {
  const folder = programFolder();
  const args = process.argv.slice(2);
  if (!answerAtOnce(folder, args)) start(folder, args);
} catch (error) {
  fail(error.message);
}
