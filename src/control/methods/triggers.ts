import { type RunBody, runBody } from "../../workflow/mod.ts";
import type { Method } from "../context.ts";
import { bare } from "./saved.ts";

export const triggers: Method<"triggers"> = async ({ gateway, session }) => await gateway.triggers.list(await session);

export const triggerShow: Method<"trigger_show"> = async ({ gateway, session }, { name }) =>
  await gateway.triggers.show(await session, bare(name));

export const triggerOn: Method<"trigger_on"> = async ({ gateway, session }, { name, hash }) =>
  await gateway.triggers.switchOn(await session, bare(name), hash);

export const triggerOff: Method<"trigger_off"> = async ({ gateway, session }, { name }) => ({
  off: await gateway.triggers.switchOff(await session, bare(name)),
});

export const triggerTry: Method<"trigger_try"> = async ({ gateway, session }, { name }) => {
  let body: RunBody | undefined;
  await gateway.triggers.attempt(await session, bare(name), async (view, own) => {
    body = await runBody(view, own);
  });
  return body!;
};
