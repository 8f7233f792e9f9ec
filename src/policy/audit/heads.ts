import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson, isObject } from "../../model/mod.ts";
import type { Link } from "./row.ts";

/** A signed statement: up to this row the chain was this. */
export interface Head extends Link {
  readonly at: number;
  readonly engine: string;
  /** The beginning of the hash of the public key. */
  readonly key: string;
  /** The hash of the head before. */
  readonly prev: string;
  readonly sig: string;
}

/** Signs heads with the key of a folder. */
export interface Signer {
  readonly key: string;
  sign(head: Omit<Head, "key" | "sig">): Head;
}

export const HEADS = "heads";
const PRIVATE = "key.pem";
const PUBLIC = "key.pub.pem";

/** The key of a folder, made when there is none. */
export function openSigner(folder: string): Signer {
  const path = join(folder, PRIVATE);
  if (!existsSync(path)) {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    writeFileSync(path, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600, flag: "wx" });
    writeFileSync(join(folder, PUBLIC), publicKey.export({ type: "spki", format: "pem" }), { mode: 0o600 });
  }
  const secret = createPrivateKey(readFileSync(path));
  const key = nameOf(createPublicKey(secret));
  return {
    key,
    sign(head) {
      const said = { ...head, key };
      return { ...said, sig: sign(null, bytesOf(said), secret).toString("base64") };
    },
  };
}

/** The hash of a head, which the next head names. */
export function hashOfHead(head: Head): string {
  return hash("sha256", canonicalJson(head));
}

/** Appends a head to the file of heads of a folder, or to one elsewhere. */
export function appendHead(path: string, head: Head): void {
  appendFileSync(path, `${JSON.stringify(head)}\n`, { mode: 0o600 });
}

/** The public key of a folder; undefined where it cannot be read. */
export function publicKeyOf(folder: string): KeyObject | undefined {
  try {
    return createPublicKey(readFileSync(join(folder, PUBLIC)));
  } catch {
    return undefined;
  }
}

/** The name of the chain in a folder: another one in its place has another key. */
export function chainOf(folder: string): string | undefined {
  const key = publicKeyOf(folder);
  return key && nameOf(key);
}

/** The heads of a file, with the number of lines that are none. */
export function readHeads(path: string): { readonly heads: Head[]; readonly broken: number } {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const lines = text.split("\n").filter(Boolean);
  const heads = lines.map(parseHead).filter((head) => head !== undefined);
  return { heads, broken: lines.length - heads.length };
}

/** A head out of its JSON text; undefined if it is none. */
export function parseHead(text: string): Head | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || typeof value.seq !== "number" || !isHash(value.hash) || !isHash(value.prev)) {
      return undefined;
    }
    return value as unknown as Head;
  } catch {
    return undefined;
  }
}

const isHash = (value: unknown) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

/** True if the key has signed exactly this head. */
export function isSigned(head: Head, key: KeyObject): boolean {
  const { sig, ...said } = head;
  return said.key === nameOf(key) && typeof sig === "string" &&
    verify(null, bytesOf(said), key, Buffer.from(sig, "base64"));
}

function bytesOf(head: Omit<Head, "sig">): Uint8Array {
  return new TextEncoder().encode(canonicalJson(head));
}

function nameOf(key: KeyObject): string {
  return hash("sha256", key.export({ type: "spki", format: "pem" })).slice(0, 16);
}
