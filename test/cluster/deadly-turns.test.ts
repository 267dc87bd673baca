import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import type { RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import type { LogRecord } from "../../src/ports/log-batch.ts";
import { ofType } from "../agents/events.ts";
import { ClusterHost } from "./cluster-host.ts";
import type { ClusterNode } from "./cluster-host.ts";

const WORK_MS = 10_000;

/** Three nodes with turns that end the process of their node, which is then started again. */
class DeadlyCluster {
  readonly host = new ClusterHost();
  readonly #nodes: ClusterNode[] = [];
  deaths = 0;

  /** The living nodes, the oldest first. */
  get nodes(): readonly ClusterNode[] {
    return this.#nodes;
  }

  async start(count: number): Promise<void> {
    while (this.#nodes.length < count) await this.#startNode();
    await this.host.pass(3_000);
  }

  kill(node: ClusterNode): void {
    const at = this.#nodes.indexOf(node);
    if (at === -1) return;
    node.kill();
    this.#nodes.splice(at, 1);
    this.deaths += 1;
  }

  /** Leaves out a node that has closed. */
  leave(node: ClusterNode): void {
    this.#nodes.splice(this.#nodes.indexOf(node), 1);
  }

  async ask(agent: string, id: string, input = ""): Promise<void> {
    const [node] = this.#nodes;
    if (node === undefined) throw new Error("no node lives");
    const requestId = id as RequestId;
    await this.host.ask(node, agent, { type: "ChatRequest", input, request_id: requestId });
  }

  /** Restarts each node that dies, until all requests have ended. */
  async live(ids: readonly string[]): Promise<void> {
    for (let step = 0; step < 10_000; step += 1) {
      const phases = await Promise.all(ids.map(async (id) => (await this.host.log.lookup(id))?.phase));
      if (phases.every((phase) => phase === "completed")) return;
      if (this.deaths > 100) throw new Error("the nodes have died a hundred times");
      if (this.#nodes.length < 3) await this.#startNode();
      await this.host.pass(200);
    }
    throw new Error("the requests do not end");
  }

  async end(id: string): Promise<string> {
    const [end] = ofType(await this.#events(id), "RequestCompleted");
    return end?.error?.code ?? String(end?.finish_reason);
  }

  /** How often the work of an innocent turn was started. */
  async starts(id: string): Promise<number> {
    return ofType(await this.#events(id), "ToolCall").length;
  }

  /** How a turn was continued after deaths. */
  async continuations(id: string): Promise<readonly LogRecord[]> {
    const entry = await this.host.log.lookup(id);
    if (entry === undefined) return [];
    const { records } = await this.host.log.read(entry.runId, { after: 0, records: true });
    return records.filter(({ type }) => type === "RecoveryStarted");
  }

  async #events(id: string): Promise<Awaited<ReturnType<ClusterHost["events"]>>> {
    const entry = await this.host.log.lookup(id);
    return entry === undefined ? [] : this.host.events(entry.runId);
  }

  async #startNode(): Promise<void> {
    const node: ClusterNode = await this.host.start(this.#agents(() => this.kill(node)));
    this.#nodes.push(node);
  }

  #agents(end: () => void): readonly Agent[] {
    const pause = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        this.host.environment.timer(ms, resolve);
      });
    const innocent = defineAgent({
      name: "innocent",
      purpose: "Works for ten seconds, in one call that may be repeated.",
      async chat(_input, turn) {
        await turn.effect("work", () => pause(WORK_MS), { effect: "idempotent" });
        return "done";
      },
    });
    const deadly = defineAgent({
      name: "deadly",
      purpose: "Ends the process of its node after so many milliseconds.",
      async chat(input) {
        await pause(Number(input));
        end();
        await new Promise<void>(() => {});
      },
    });
    return [innocent, deadly];
  }
}

test.each([
  { about: "at once", input: "20", innocents: 1 },
  { about: "at once, beside many others", input: "20", innocents: 8 },
  { about: "late", input: "3000", innocents: 4 },
])(
  "a turn that ends the process of each node that takes it over is poisoned, and no other turn is: $about",
  async ({ input, innocents }) => {
    const cluster = new DeadlyCluster();
    await cluster.start(3);
    const others = Array.from({ length: innocents }, (_, at) => `innocent-${at}`);
    for (const id of others) await cluster.ask("innocent", id);
    await cluster.ask("deadly", "deadly", input);
    await cluster.live([...others, "deadly"]);
    expect(await cluster.end("deadly")).toBe("poisoned");
    expect(await Promise.all(others.map((id) => cluster.end(id)))).toEqual(others.map(() => "success"));
    expect(cluster.deaths).toBeLessThan(10);
  },
);

/** A node with two turns whose process has died twice: one is on trial, the other waits for its trial. */
async function twoSuspects(): Promise<{ cluster: DeadlyCluster; onTrial: string; waiting: string }> {
  const cluster = new DeadlyCluster();
  await cluster.start(1);
  await cluster.ask("innocent", "one");
  await cluster.ask("innocent", "two");
  for (const starts of ["2,2", "2,3"]) {
    await cluster.start(2);
    cluster.kill(cluster.nodes[0] as ClusterNode);
    await untilStarted(cluster, starts);
  }
  const isFirst = (await cluster.starts("one")) === 3;
  return { cluster, onTrial: isFirst ? "one" : "two", waiting: isFirst ? "two" : "one" };
}

async function untilStarted(cluster: DeadlyCluster, wanted: string): Promise<void> {
  for (let step = 0; step < 200; step += 1) {
    const starts = [await cluster.starts("one"), await cluster.starts("two")];
    if (starts.toSorted((a, b) => a - b).join() === wanted) return;
    await cluster.host.pass(50);
  }
  throw new Error(`the work was not started so often: ${wanted}`);
}

test("a suspect on a running node continues once the trial before it is over", async () => {
  const { cluster, onTrial, waiting } = await twoSuspects();
  await cluster.host.pass(500);
  expect(await cluster.starts(waiting)).toBe(2);
  await cluster.host.pass(1_000);
  expect(await cluster.starts(waiting)).toBe(3);
  await cluster.live([onTrial, waiting]);
  expect([await cluster.end(onTrial), await cluster.end(waiting)]).toEqual(["success", "success"]);
});

test("a new request on a running node does not wait for a trial", async () => {
  const { cluster } = await twoSuspects();
  await cluster.ask("innocent", "new");
  expect(await cluster.starts("new")).toBe(1);
});

test("a suspect that waits for its trial can be canceled", async () => {
  const { cluster, onTrial, waiting } = await twoSuspects();
  const [node] = cluster.nodes as [ClusterNode];
  const cancel = { type: "CancelRequest", request_id: waiting as RequestId } as const;
  await cluster.host.settle(node.runtime.process("innocent", cancel));
  await cluster.live([onTrial]);
  expect([await cluster.end(onTrial), await cluster.end(waiting)]).toEqual(["success", "canceled"]);
  expect(await cluster.starts(waiting)).toBe(2);
});

test("a node that closes does not wait for a suspect without a trial, and the next node tries it", async () => {
  const { cluster, onTrial, waiting } = await twoSuspects();
  const [closing] = cluster.nodes as [ClusterNode];
  // The turn on trial takes ten seconds.
  await cluster.host.settle(closing.runtime.close({ drainMs: 60_000 }), 15_000);
  cluster.leave(closing);
  expect([await cluster.end(onTrial), await cluster.starts(waiting)]).toEqual(["success", 2]);
  await cluster.start(1);
  await cluster.live([waiting]);
  expect(await cluster.end(waiting)).toBe("success");
  expect(await cluster.continuations(waiting)).toMatchObject([{ deaths: 1 }, { deaths: 2, among: 1 }]);
});
