import { isObject, splitToolId } from "../../model/mod.ts";
import { readChecked, writeChecked } from "../../platform/mod.ts";

/** A tool that a person has allowed for good, as it was defined then. */
export interface Grant {
  readonly server: string;
  readonly tool: string;
  /** The hash of the tool's definition. */
  readonly definition: string;
  readonly at: number;
  readonly client?: string | undefined;
}

/** The tools that were allowed always, in `grants.json`. */
export interface Grants {
  has(tool: string, definition: string): boolean;
  add(tool: string, definition: string, client: string | undefined): Promise<void>;
  list(): readonly Grant[];
  /** Takes grants back: those that `fits` finds; gives them. */
  revoke(fits: (grant: Grant) => boolean): Promise<readonly Grant[]>;
}

/** Opens the grants of a home. A file that cannot be read grants nothing. */
async function openGrants(path: string): Promise<Grants> {
  let grants = grantsIn(await readChecked(path));
  let writing: Promise<void> = Promise.resolve();
  const write = () => writing = writing.catch(() => {}).then(() => writeChecked(path, JSON.stringify(grants)));
  return {
    has(id, definition) {
      const { server, name } = splitToolId(id);
      return grants.some((one) => one.server === server && one.tool === name && one.definition === definition);
    },
    async add(id, definition, client) {
      const { server = "", name } = splitToolId(id);
      const others = grants.filter((one) => one.server !== server || one.tool !== name);
      grants = [...others, { server, tool: name, definition, at: Date.now(), ...client !== undefined && { client } }];
      await write();
    },
    list: () => grants,
    async revoke(fits) {
      const gone = grants.filter(fits);
      grants = grants.filter((one) => !gone.includes(one));
      if (gone.length > 0) await write();
      return gone;
    },
  };
}

/** The grants of a home, read when they are needed first. */
export function lazyGrants(path: string): () => Promise<Grants> {
  let opening: Promise<Grants> | undefined;
  return () => opening ??= openGrants(path);
}

function grantsIn(value: unknown): readonly Grant[] {
  return (Array.isArray(value) ? value : []).filter((one): one is Grant =>
    isObject(one) && typeof one.server === "string" && typeof one.tool === "string" &&
    typeof one.definition === "string" && typeof one.at === "number"
  );
}
