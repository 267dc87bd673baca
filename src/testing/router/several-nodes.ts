import type { EventLog } from "../../ports/event-log.ts";
import { asRunId, startRun } from "../event-log/subject.ts";
import { registerHandler, until } from "./subject.ts";
import type { RouterSubject, ServingNode } from "./subject.ts";

/** One of several nodes that share a log. */
export type ServedNode = ServingNode & { readonly log: EventLog & { readonly node: string } };

/** A tuple of nodes. */
interface Nodes {
  readonly 2: readonly [a: ServedNode, b: ServedNode];
  readonly 3: readonly [a: ServedNode, b: ServedNode, c: ServedNode];
}

/** Starts nodes that know each other and judge each other, for the duration of a test. */
export async function serveNodes<Count extends keyof Nodes>(
  subject: RouterSubject,
  count: Count,
): Promise<Nodes[Count]> {
  const join = subject.join?.bind(subject);
  if (join === undefined) throw new Error("the router is for one node");
  const first = await subject.open();
  const nodes = [toNode(await registerHandler(subject, first))];
  while (nodes.length < count) nodes.push(toNode(await registerHandler(subject, await join(first))));
  const isComplete = ({ router }: ServedNode): boolean =>
    router.health().ready && router.members().filter(isActive).length === count;
  const tasks = Array.from({ length: 10 }, (_, task) => `task ${task}`);
  // A node that has just joined judges no other one, and does no task.
  const isJudging = (): boolean =>
    tasks.every((task) => nodes.filter(({ router }) => router.leads(task)).length === 1);
  await until(subject, () => nodes.every(isComplete) && isJudging());
  return nodes as unknown as Nodes[Count];
}

/** Makes a node the owner of a run. */
export async function claimedBy({ log }: ServedNode, id: string): Promise<void> {
  if ((await log.run(asRunId(id))) === undefined) await startRun(log, id, 1);
  else await log.claim(asRunId(id));
}

function toNode(served: ServingNode): ServedNode {
  if (served.log?.node === undefined) throw new Error("a router of several nodes needs a log that has nodes");
  return served as ServedNode;
}

function isActive({ isAlive, state }: { readonly isAlive: boolean; readonly state: string }): boolean {
  return isAlive && state === "active";
}
