// Where the program and its Deno lie, for the command and for the library.
"use strict";
const { existsSync } = require("node:fs");
const { dirname, join } = require("node:path");

const PLATFORM = `${process.platform}-${process.arch}`;
const DENO_PACKAGE = `@deno/${PLATFORM}${process.platform === "linux" ? "-glibc" : ""}`;
/** Windows programs have no name without it. */
const EXE = process.platform === "win32" ? ".exe" : "";

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

/** The words that start the program of a folder. */
function programWords(folder) {
  return [
    denoProgram(folder),
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
}

module.exports = { programFolder, programWords };
