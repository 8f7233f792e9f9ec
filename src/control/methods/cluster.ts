import { AgentCardsError } from "../../model/mod.ts";
import type { Cluster } from "../../workflow/mod.ts";
import type { Method } from "../context.ts";
import type { Gateway } from "../gateway.ts";

export const engines: Method<"engines"> = async ({ gateway }) => await clusterOf(gateway).engines();

export const contexts: Method<"contexts"> = async ({ gateway }) => await clusterOf(gateway).contexts();

export const drain: Method<"drain"> = async ({ gateway }) => {
  const cluster = clusterOf(gateway);
  const runs = gateway.workflows.count();
  await cluster.drain();
  return { runs };
};

function clusterOf({ cluster }: Gateway): Cluster {
  if (cluster) return cluster;
  throw new AgentCardsError("USAGE", "This engine has its database to itself", {
    hint: "`database: postgres://…` in config.yaml lets several engines share one.",
  });
}
