import type { ServerEntry } from "./client.ts";
import { isSecretName, isWorthHiding, looksRandom, SCHEME, TOKEN, UUID } from "./credentials.ts";
import { variableName } from "./variables.ts";

/** Gives credentials names. The same value under the same wish gets the same name, another value another one. */
export interface Vault {
  reference(value: string, wanted: string): string;
  /** What has to be added to `secrets.env`. */
  readonly added: Record<string, string>;
}

/** The names that are taken. */
export interface VaultOptions {
  /** What `secrets.env` holds already. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables that servers refer to and that mean something else: the user's own environment. */
  readonly referenced: ReadonlySet<string>;
}

/** A vault that knows which names are taken, and by which values. */
export function openVault({ secrets, env, referenced }: VaultOptions): Vault {
  const added: Record<string, string> = {};
  const isFree = (name: string, value: string) => {
    const known = added[name] ?? secrets[name];
    if (known !== undefined) return known === value;
    // A variable of the shell with another value could win over ours.
    return !referenced.has(name) && (env[name] === undefined || env[name] === value);
  };
  return {
    added,
    reference(value, wanted) {
      let name = wanted;
      for (let n = 2; !isFree(name, value); n++) name = `${wanted}_${n}`;
      if (secrets[name] === undefined) added[name] = value;
      return `\${${name}}`;
    },
  };
}

/** The server with every literal credential replaced by a reference into the vault. */
export function extractSecrets(name: string, server: ServerEntry, vault: Vault): ServerEntry {
  const own: Wish = (part) => `${variableName(name)}_${variableName(part || "secret")}`;
  const record = (values: Record<string, string> | undefined, wish: (key: string) => Wish) =>
    values && Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, hideValue({ key, value, wish: wish(key) }, vault)]),
    );
  const hidden = {
    ...server,
    args: server.args && hideArgs(server.args, own, vault),
    env: record(server.env, within),
    url: server.url && hideUrl(server.url, own, vault),
    headers: record(server.headers, (key) => within(own(/^(proxy-)?authorization$/i.test(key) ? "token" : key))),
  };
  return Object.fromEntries(Object.entries(hidden).filter(([, value]) => value !== undefined)) as ServerEntry;
}

/** The name a credential would like to have; the part says where in the value it stood, "" is all of it. */
type Wish = (part: string) => string;

function within(name: string): Wish {
  return (part) => part ? `${variableName(name)}_${variableName(part)}` : variableName(name);
}

const hasReference = (text: string) => /\$\{[A-Za-z_]/.test(text);

interface Named {
  readonly key: string;
  readonly value: string;
  readonly wish: Wish;
}

function hideValue({ key, value, wish }: Named, vault: Vault): string {
  const isNamed = isSecretName(key);
  const isPlain = !/^\s*[[{]|^[a-z][a-z0-9+.-]*:\/\/|^\w+ \S+$/i.test(value);
  // A plain value under a telling name goes as a whole: a known token may be only a part of it.
  const inside = isNamed && isPlain ? value : hideInside(value, wish, vault);
  if (inside !== value || hasReference(value)) return inside;
  const isSecret = isNamed ? isWorthHiding(value) : looksRandom(value) && !UUID.test(value);
  return isSecret ? vault.reference(value, wish("")) : value;
}

/** Credentials within a text: JSON members, authorisation schemes, URLs, tokens of known services. */
function hideInside(text: string, wish: Wish, vault: Vault): string {
  const json = text.replace(
    /("([\w.-]+)"\s*:\s*")((?:[^"\\]|\\.)+)(")/g,
    (all, before, key: string, value: string, after) => {
      const isHidden = isSecretName(key) && isWorthHiding(value) && !hasReference(value) && !/^\w+\s+\S/.test(value);
      return isHidden ? `${before}${vault.reference(value, wish(key))}${after}` : all;
    },
  );
  const schemes = json.replace(SCHEME, (_all, scheme: string, space: string, value: string) => {
    return `${scheme}${space}${vault.reference(value, wish(""))}`;
  });
  const urls = /^[a-z][a-z0-9+.-]*:\/\//i.test(schemes) ? hideUrl(schemes, wish, vault) : schemes;
  return urls.replace(TOKEN, (value) => vault.reference(value, wish("")));
}

/** The password of `user:password@`, secret parameters of the query, and random-looking parts of the path. */
function hideUrl(url: string, wish: Wish, vault: Vault): string {
  const match = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/is.exec(url);
  if (!match) return url.replace(TOKEN, (value) => vault.reference(value, wish("token")));
  const [, scheme, authority, path, query = "", fragment = ""] = match;
  const hide = (value: string, part: string) => hasReference(value) ? value : vault.reference(value, wish(part));
  const host = authority!.replace(
    /^([^:@]*):(.+)@/,
    (_all, user, password: string) => `${user}:${hide(password, "password")}@`,
  )
    .replace(/^([^:@]+)@/, (all, user: string) => looksRandom(user) ? `${hide(user, "token")}@` : all);
  const parts = path!.split("/").map((part) => isSecretPart(part) ? hide(part, "token") : part);
  const parameters = query.replace(/([?&])([^=&]+)=([^&]+)/g, (all, mark, key: string, value: string) => {
    const isSecret = isSecretName(key) && isWorthHiding(value) || isSecretPart(value);
    return isSecret ? `${mark}${key}=${hide(value, key)}` : all;
  });
  return scheme! + host + parts.join("/") + parameters + fragment;
}

function isSecretPart(text: string): boolean {
  return looksRandom(text) || UUID.test(text) || text.match(TOKEN)?.[0] === text;
}

/** `--api-key VALUE`, `--token=VALUE`, `-e KEY=VALUE`, `-H "Name: value"` and bare credentials. */
function hideArgs(args: readonly string[], own: Wish, vault: Vault): string[] {
  return args.map((arg, at) => {
    const flag = /^--?([A-Za-z][\w.-]*)$/.exec(args[at - 1] ?? "")?.[1];
    if (flag && !arg.startsWith("-") && isSecretName(flag)) {
      return hideValue({ key: flag, value: arg, wish: within(own(flag)) }, vault);
    }
    const pair = /^(-{0,2})([A-Za-z][\w.-]*)(=|:\s*)(?!\/\/)([\s\S]+)$/.exec(arg);
    if (pair) {
      const [, dashes, key, mark, value] = pair;
      // `docker run -e KEY=VALUE`: the variable keeps its name, as it does in `env`.
      const wish = within(dashes === "" && mark === "=" ? key! : own(key!));
      return `${dashes}${key}${mark}${hideValue({ key: key!, value: value!, wish }, vault)}`;
    }
    return hideValue({ key: "", value: arg, wish: own }, vault);
  });
}
