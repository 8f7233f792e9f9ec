#!/usr/bin/env node
// The command `agentcards` of the npm package: starts the program with the Deno that was installed beside it. Entries in
// clients' files name that Deno and `main.js` themselves and start without this file.
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { programFolder, programWords } = require("./program.cjs");

const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP"];

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
  const [deno, ...words] = programWords(folder);
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
