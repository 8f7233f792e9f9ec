/** The Deno that runs the program: a package of npm, at this version and no other. */
export const DENO_VERSION = "2.9.6";

/** A platform that a package is made for. */
export interface Platform {
  readonly name: string;
  readonly os: "linux" | "darwin" | "win32";
  readonly cpu: "x64" | "arm64";
  readonly libc?: "glibc";
  /** The package of npm that holds Deno's program for it. */
  readonly deno: string;
}

/** The platforms that packages are made for. */
export const PLATFORMS: readonly Platform[] = [
  { name: "linux-x64", os: "linux", cpu: "x64", libc: "glibc", deno: "@deno/linux-x64-glibc" },
  { name: "linux-arm64", os: "linux", cpu: "arm64", libc: "glibc", deno: "@deno/linux-arm64-glibc" },
  { name: "darwin-arm64", os: "darwin", cpu: "arm64", deno: "@deno/darwin-arm64" },
  { name: "darwin-x64", os: "darwin", cpu: "x64", deno: "@deno/darwin-x64" },
  { name: "win32-x64", os: "win32", cpu: "x64", deno: "@deno/win32-x64" },
];

/** The platform of this machine. */
export function thisPlatform(): Platform {
  const cpu = Deno.build.arch === "aarch64" ? "arm64" : "x64";
  const os = Deno.build.os === "windows" ? "win32" : Deno.build.os;
  const found = PLATFORMS.find((one) => one.os === os && one.cpu === cpu);
  if (!found) throw new Error(`There is no package for ${os}-${cpu}: ${named()}`);
  return found;
}

export function platformNamed(name: string): Platform {
  const found = PLATFORMS.find((platform) => platform.name === name);
  if (!found) throw new Error(`There is no package for ${name}: ${named()}`);
  return found;
}

function named(): string {
  return `packages are made for ${PLATFORMS.map(({ name }) => name).join(", ")}`;
}

/** Why no package can be made for a platform now, if so: its Deno must be on npm. */
export async function whyNot(platform: Platform): Promise<string | undefined> {
  const { success, stdout, stderr } = await new Deno.Command("npm", {
    args: ["view", `${platform.deno}@${DENO_VERSION}`, "version", "--json"],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  if (success && decoder.decode(stdout).includes(DENO_VERSION)) return undefined;
  const said = decoder.decode(stderr).replace(/^npm (?:warn|notice).*\n/gm, "");
  return success || /\bE404\b|No match found/.test(said)
    ? `${platform.deno} ${DENO_VERSION} is not on npm`
    : `npm does not say whether it has ${platform.deno} ${DENO_VERSION}: ${said.trim().split("\n")[0]}`;
}
