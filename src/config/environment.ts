/** Variables that a server's program gets from the session; every other one must be configured. */
export const INHERITED: readonly string[] = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "TERM",
  "LANG",
  "LANGUAGE",
  "TZ",
  "TMPDIR",
  "TEMP",
  "TMP",
  "XDG_CONFIG_HOME",
  "XDG_CACHE_HOME",
  "XDG_DATA_HOME",
  "XDG_RUNTIME_DIR",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "NVM_DIR",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "SYSTEMROOT",
  "APPDATA",
  "LOCALAPPDATA",
  "USERPROFILE",
  "PATHEXT",
  "COMSPEC",
];

/** Variables that the engine itself needs of a session: the folder of the client's records, and the session bus. */
const OWN: readonly string[] = ["AGENTCARDS_HOME", "CLAUDE_CONFIG_DIR", "DBUS_SESSION_BUS_ADDRESS"];

type Environment = Readonly<Record<string, string>>;

/** True for a variable that a server's program inherits. */
export function isInherited(name: string): boolean {
  return INHERITED.includes(name) || name.startsWith("LC_");
}

/** The part of an environment that a client of the engine sends unasked. */
export function harmlessVariables(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => isInherited(name) || OWN.includes(name)));
}

/** The variables of these names. */
export function variablesNamed(names: readonly string[], env: Environment): Record<string, string> {
  return Object.fromEntries(names.filter((name) => Object.hasOwn(env, name)).map((name) => [name, env[name]!]));
}
