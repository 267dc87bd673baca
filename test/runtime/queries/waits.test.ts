import { defineAgent } from "troupe";
import type { Event, RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

const work = { done: Promise.withResolvers<void>() };

const both = defineAgent({
  name: "both",
  purpose: "Asks two things while it works.",
  async chat(_input, turn) {
    await turn.all([
      (branch) => branch.waitForInput({ first: "First?" }),
      (branch) => branch.waitForInput({ second: "Second?" }, { timeoutMs: 60_000 }),
      (branch) => branch.effect("work", () => work.done.promise),
    ]);
  },
});

const parent = defineAgent({
  name: "parent",
  purpose: "Lets another agent ask.",
  async chat(_input, turn) {
    const call = turn.call(both, "chat", { input: "" });
    await Promise.race([call, turn.sleep(1_000)]);
  },
});

async function open(host: TestHost, query = {}): Promise<readonly Event[]> {
  const { events } = await host.runtime.waits({ limit: 100, ...query });
  return events.map((text) => JSON.parse(text) as Event);
}

function keysOf(events: readonly Event[]): readonly string[] {
  return ofType(events, "WaitForInput").map(({ request_keys: keys }) => Object.keys(keys).join());
}

test("open waits are listed as in the log, also beside other work, until they are answered or expire", async () => {
  const host = new TestHost({ agents: [both] });
  const { runId } = await host.ask("both", chat);
  const waits = await open(host);
  expect(waits).toEqual(ofType(await host.events(asked), "WaitForInput"));
  expect(keysOf(waits)).toEqual(["first", "second"]);
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "running",
    waiting_for: { kind: "input", wait_id: waits[0]?.id },
  });
  expect(await host.runtime.status(asked)).not.toHaveProperty("request_keys");
  expect(await open(host, { agent: "both", runId })).toHaveLength(2);
  expect(await open(host, { agent: "other" })).toEqual([]);

  const answer = { type: "ResumeWithInput", request_id: asked, wait_id: waits[0]?.id ?? 0 } as const;
  await host.ask("both", { ...answer, request_keys: { first: 1 } });
  expect(keysOf(await open(host))).toEqual(["second"]);
  await host.restart();
  expect(keysOf(await open(host))).toEqual(["second"]);
  await host.environment.advance(60_000);
  expect(await open(host)).toEqual([]);
});

test("waits of a call that is given up, and of a turn that ends, are not open", async () => {
  const host = new TestHost({ agents: [parent, both] });
  await host.ask("parent", chat);
  expect(await open(host, { agent: "parent" })).toHaveLength(2);
  expect(await open(host, { agent: "both" })).toEqual([]);
  await host.environment.advance(1_000);
  expect(await open(host)).toEqual([]);

  const second = "second" as RequestId;
  await host.ask("both", { ...chat, request_id: second });
  await host.restart();
  expect(await open(host)).toHaveLength(2);
  await host.ask("both", { type: "CancelRequest", request_id: second });
  expect(await open(host)).toEqual([]);
});

test("pages of waits lead through all of them, the oldest first", async () => {
  const host = new TestHost({ agents: [both] });
  for (let n = 0; n < 5; n += 1) {
    await host.ask("both", { ...chat, request_id: `asked-${n}` as RequestId });
    await host.environment.advance(1);
  }
  const runs: RunId[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await host.runtime.waits({ limit: 3, ...(cursor !== undefined && { cursor }) });
    runs.push(...page.events.map((text) => (JSON.parse(text) as Event).run_id));
    if (page.next === undefined) break;
    cursor = page.next;
  }
  expect(runs).toHaveLength(10);
  const entries = await Promise.all([0, 1, 2, 3, 4].map((n) => host.log.lookup(`asked-${n}`)));
  expect(runs.filter((_, index) => index % 2 === 0)).toEqual(entries.map((entry) => entry?.runId));
});

test("a crash at any commit leaves in the index what the log has open", async () => {
  for (const written of [true, false]) {
    for (let commit = 0; commit < 8; commit += 1) {
      const host = new TestHost({ agents: [both] });
      host.planFault({ kind: "crash", written, after: commit });
      const asks = host.runtime.process("both", chat);
      asks.catch(() => {});
      await host.environment.idle();
      if (host.crashed) await host.restart();
      await host.environment.advance(60_000);
      if (host.crashed) await host.restart();
      await host.environment.advance(60_000);
      const events = await host.events(asked).catch(() => []);
      const closed = ofType(events, "WaitExpired").map(({ wait_id: waitId }) => waitId);
      const isOver = ofType(events, "RequestCompleted").length > 0;
      const waits = ofType(events, "WaitForInput").filter(({ id }) => !isOver && !closed.includes(id));
      expect(await open(host)).toEqual(waits);
    }
  }
});

test("the list of runs counts open waits and queued requests, and says when a run continues", async () => {
  const host = new TestHost({ agents: [both] });
  const { runId } = await host.ask("both", chat);
  await host.ask("both", { ...chat, run_id: runId as RunId, request_id: "next", on_busy: "enqueue" });
  expect(await host.runtime.run(runId as RunId)).toMatchObject({ open_waits: 2, queued: 1 });
  work.done.resolve();
  await host.environment.idle();
  const [row] = (await host.runtime.runs({ limit: 1 })).runs;
  const wakeAt = new Date(host.environment.now() + 60_000).toISOString();
  expect(row).toMatchObject({ status: "waiting", open_waits: 2, queued: 1, wake_at: wakeAt });
  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting", wake_at: wakeAt });
  expect(await host.runtime.status("next")).not.toHaveProperty("wake_at");
  await host.ask("both", { type: "CancelRequest", request_id: "next" });
  await host.ask("both", { type: "CancelRequest", request_id: asked });
  expect(await host.runtime.run(runId as RunId)).toMatchObject({ open_waits: 0, queued: 0 });
  expect(await host.runtime.run(runId as RunId)).not.toHaveProperty("wake_at");
  expect(await host.runtime.status(asked)).not.toHaveProperty("wake_at");
});
