/** @module-tag long */
// Which node hears of a change, and how: over the listener of the nodes, or over NOTIFY, which wakes every node for each message.
import pg from "pg";
import { clusterRouter } from "troupe";
import { httpTransport, nodeEnvironment } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import type { Transport } from "../../src/cluster/transport.ts";
import type { EventLog } from "../../src/ports/event-log.ts";
import type { RunId } from "../../src/protocol/ids.ts";
import { asRunId, nextEvents, startRun } from "../../src/testing/event-log/subject.ts";
import { findFreeUrl } from "../machine/free-port.ts";
import { needsPostgres, postgresUrl } from "../machine/postgres.ts";
import { newSchema, openSchema } from "../storage/postgres/logs.ts";

needsPostgres();

const RUN = asRunId("followed");

/** A node whose messages to some others can be cut off. */
interface Node {
  readonly log: EventLog;
  readonly url: string;
  readonly cutOff: Set<string>;
  stop(): Promise<void>;
}

async function startNode(schema: string): Promise<Node> {
  const log = await openSchema(schema);
  const cutOff = new Set<string>();
  const real = httpTransport({ url: await findFreeUrl(), secret: "shared by all nodes" });
  const transport: Transport = {
    ...real,
    async send(url, message, signal) {
      // As in a network that loses everything: only the time tells.
      if (cutOff.has(url))
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("the network is cut")));
        });
      return real.send(url, message, signal);
    },
  };
  const router = clusterRouter({ log, transport, environment: nodeEnvironment() });
  const leave = await router.serve({
    agents: {},
    deliver: async () => null,
    holds: () => false,
    takeOver: async () => 0,
  });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= leave().then(() => log.close()));
  onTestFinished(stop);
  return { log, url: real.url, cutOff, stop };
}

/** Counts the NOTIFY of the nodes of a schema. */
async function countNotifies(schema: string): Promise<() => Promise<number>> {
  const client = new pg.Client({ connectionString: await postgresUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  let count = 0;
  let arrived = (): void => {};
  client.on("notification", ({ channel }) => {
    if (channel === `${schema}_marker`) arrived();
    else count += 1;
  });
  await client.query(`LISTEN troupe_${schema}; LISTEN ${schema}_marker`);
  return async () => {
    // They arrive in the order of their commits.
    const { promise, resolve } = Promise.withResolvers<void>();
    arrived = resolve;
    await client.query(`NOTIFY ${schema}_marker`);
    await promise;
    return count;
  };
}

/** Appends an event to a run that a node owns, again and again, until no other node is told of it over the database. */
async function untilCarried(log: EventLog, count: () => Promise<number>): Promise<void> {
  let cursor = await startRun(log, `probe-${log.node}`, 1);
  await expect
    .poll(
      async () => {
        const before = await count();
        cursor = await log.append(cursor, nextEvents(cursor, 1));
        // What the append sends is sent before this claim.
        await log.claim(asRunId(`other-${log.node}`));
        return (await count()) - before;
      },
      { timeout: 20_000 },
    )
    .toBe(0);
}

/** Reads a run on a node as a follower does: again after each wake. */
function follow({ log }: Node, runId: RunId): { head(): number } {
  let head = 0;
  const read = async (): Promise<void> => {
    const page = await log.read(runId, { after: head });
    head = Math.max(head, page.head);
  };
  const stop = log.tail(runId, () => void read());
  onTestFinished(stop);
  void read();
  return { head: () => head };
}

async function startThree(): Promise<{
  readonly nodes: readonly [Node, Node, Node];
  readonly count: () => Promise<number>;
}> {
  const schema = newSchema();
  const nodes = [await startNode(schema), await startNode(schema), await startNode(schema)] as const;
  const count = await countNotifies(schema);
  for (const { log } of nodes) await untilCarried(log, count);
  return { nodes, count };
}

test("a run that is followed on its owner sends no NOTIFY", async () => {
  const { nodes, count } = await startThree();
  const [owner] = nodes;
  const before = await count();
  let cursor = await startRun(owner.log, RUN, 1);
  const reader = follow(owner, RUN);
  while (cursor.head < 100) cursor = await owner.log.append(cursor, nextEvents(cursor, 1));
  owner.log.release(cursor);
  await expect.poll(reader.head).toBe(100);
  expect((await count()) - before).toBe(0);
});

test("a run that is followed on another node wakes that node without NOTIFY", async () => {
  const { nodes, count } = await startThree();
  const [owner, other] = nodes;
  const before = await count();
  let cursor = await startRun(owner.log, RUN, 1);
  const reader = follow(other, RUN);
  for (let head = 2; head <= 100; head += 1) {
    cursor = await owner.log.append(cursor, nextEvents(cursor, 1));
    await expect.poll(reader.head, { interval: 1, timeout: 4_000 }).toBe(head);
  }
  expect((await count()) - before).toBe(0);
});

test("a run that another node takes over still wakes the nodes where it is followed", async () => {
  const { nodes } = await startThree();
  const [first, second, third] = nodes;
  const reader = follow(third, RUN);
  let cursor = await startRun(first.log, RUN, 1);
  await expect.poll(reader.head, { timeout: 4_000 }).toBe(1);
  for (let round = 0; round < 10; round += 1) {
    const { log } = round % 2 === 0 ? second : first;
    ({ cursor } = await log.claim(RUN));
    cursor = await log.append(cursor, nextEvents(cursor, 1));
    await expect.poll(reader.head, { interval: 1, timeout: 4_000 }).toBe(round + 2);
    // Half of them are taken from a living owner, half after a release.
    if (round % 4 < 2) log.release(cursor);
  }
});

test("a watcher of all runs is woken by each node without NOTIFY", async () => {
  const { nodes, count } = await startThree();
  const [first, second, third] = nodes;
  const before = await count();
  const seen = new Set<RunId>();
  const stop = third.log.watch((runId) => void seen.add(runId));
  await startRun(first.log, "of-first", 1);
  await startRun(second.log, "of-second", 1);
  await expect
    .poll(() => [...seen], { timeout: 4_000 })
    .toEqual(expect.arrayContaining(["of-first", "of-second"]));
  expect((await count()) - before).toBe(0);
  stop();
});

test("nodes that cannot reach each other wake each other by NOTIFY, and without it once they can", async () => {
  const { nodes, count } = await startThree();
  const [owner, other] = nodes;
  let cursor = await startRun(owner.log, RUN, 1);
  const reader = follow(other, RUN);
  cursor = await owner.log.append(cursor, nextEvents(cursor, 1));
  await expect.poll(reader.head, { timeout: 4_000 }).toBe(2);
  owner.cutOff.add(other.url);
  other.cutOff.add(owner.url);
  for (let head = 3; head <= 20; head += 1) {
    cursor = await owner.log.append(cursor, nextEvents(cursor, 1));
    await expect.poll(reader.head, { interval: 1, timeout: 4_000 }).toBe(head);
  }
  // A reader that begins while they cannot reach each other misses nothing either.
  const second = follow(other, asRunId("second"));
  let next = await startRun(owner.log, "second", 1);
  next = await owner.log.append(next, nextEvents(next, 1));
  await expect.poll(second.head, { timeout: 4_000 }).toBe(2);
  expect(await count()).toBeGreaterThan(0);
  owner.cutOff.clear();
  other.cutOff.clear();
  await untilCarried(owner.log, count);
  cursor = await owner.log.append(cursor, nextEvents(cursor, 1));
  await expect.poll(reader.head, { timeout: 4_000 }).toBe(21);
});

test("a program that only opens the log is told over NOTIFY until it closes it", async () => {
  const schema = newSchema();
  const node = await startNode(schema);
  const count = await countNotifies(schema);
  const program = await openSchema(schema);
  onTestFinished(() => program.close());
  let woken = 0;
  program.tail(RUN, () => (woken += 1));
  await startRun(node.log, RUN, 1);
  await expect.poll(() => woken, { timeout: 4_000 }).toBeGreaterThan(0);
  await program.close();
  await untilCarried(node.log, count);
});
