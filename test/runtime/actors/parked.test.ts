import type { Runtime } from "troupe";
import type { Event, JsonObject, RunId } from "troupe/protocol";
import { expect, test, vi } from "vitest";
import type { ParkedQuery } from "../../../src/ports/log-queries.ts";
import { asked, TestHost } from "../test-host.ts";
import { list, peer, user } from "./agents.ts";

const agents = [list, user, peer];
const run = (operation: string, input: JsonObject, request_id: string = asked) =>
  ({ type: "OperationRequest", operation, input, request_id }) as const;

async function eventsOf(host: TestHost, agent: string, key: string): Promise<readonly Event[]> {
  const runId = await host.runtime.find(agent, key);
  return runId === undefined ? [] : host.events(runId);
}

async function advance(host: TestHost, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) await host.environment.advance(1_000);
}

const answer = { type: "ResumeWithInput", request_keys: { go: true } } as const;

test("a turn that waits for an answer is parked: its status names the actor, and a start does not continue it", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_bad", { operation: "hold" }));
  await advance(host, 3);
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "running",
    waiting_for: { kind: "actor", agent: "list", key: "bad" },
  });
  expect(await host.log.open()).toEqual([]);
  await host.restart();
  await advance(host, 3);
  expect(host.runtime.health()).toMatchObject({ activeRuns: 0 });
  const [started] = await eventsOf(host, "list", "bad");
  await host.ask("list", { ...answer, request_id: started?.request_id ?? "" });
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success", output: { go: true } });
  await advance(host, 2);
  expect(await host.log.outbox({})).toEqual([]);
});

test("the answer wakes a parked turn, also if the process dies at any commit of it", async () => {
  for (let after = 0; after < 8; after += 1) {
    for (const written of [true, false]) {
      const host = new TestHost({ agents });
      await host.ask("user", run("ask_bad", { operation: "hold" }));
      await advance(host, 3);
      await host.restart();
      host.planFault({ kind: "crash", written, after });
      const [started] = await eventsOf(host, "list", "bad");
      const resume = { ...answer, request_id: started?.request_id ?? "", resume_id: "once" } as const;
      host.ask("list", resume).catch(() => {});
      await host.environment.idle();
      await advance(host, 20);
      if (host.crashed) {
        await host.restart();
        await host.ask("list", resume);
        await advance(host, 20);
      }
      expect((await host.events(asked)).at(-1)).toMatchObject({ output: { go: true } });
      expect(await host.log.outbox({})).toEqual([]);
      expect(await host.log.open()).toEqual([]);
    }
  }
});

test("the deadline of an ask wakes a parked turn that is not in memory", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_bad", { operation: "hold", timeoutMs: 60_000 }));
  await advance(host, 3);
  await host.restart();
  await advance(host, 70);
  expect((await host.events(asked)).at(-2)).toMatchObject({ type: "ToolError", code: "timeout" });
  expect((await eventsOf(host, "list", "bad")).at(-1)).toMatchObject({ finish_reason: "canceled" });
});

test("a cancel reaches the asked actor also if the asking turn is not in memory", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_bad", { operation: "hold" }));
  await advance(host, 3);
  await host.restart();
  await host.ask("user", { type: "CancelRequest", request_id: asked });
  await advance(host, 3);
  expect((await eventsOf(host, "list", "bad")).at(-1)).toMatchObject({ finish_reason: "canceled" });
  expect(await host.log.outbox({})).toEqual([]);
});

test("two actors that ask each other at once get one would_deadlock and one answer", async () => {
  const host = new TestHost({ agents });
  await host.ask("peer", { ...run("ask_after", { ms: 10, to: "b" }, "first"), key: "a" });
  await host.ask("peer", { ...run("ask_after", { ms: 10, to: "a" }, "second"), key: "b" });
  await advance(host, 10);
  const ends = [(await host.events("first")).at(-1), (await host.events("second")).at(-1)];
  expect(ends).toMatchObject([{ type: "RequestCompleted" }, { type: "RequestCompleted" }]);
  const errors = [...(await host.events("first")), ...(await host.events("second"))].filter(
    ({ type }) => type === "ToolError",
  );
  expect(errors).toMatchObject([{ code: "would_deadlock" }]);
  expect(ends.filter((end) => end?.type === "RequestCompleted" && end.output === "end")).toHaveLength(1);
  expect(await host.log.open()).toEqual([]);
});

test("actors that wait for each other are found although another owner has requests with the same ids", async () => {
  const host = new TestHost({ agents });
  const [ann, bob] = ["acme", "bolt"].map((owner) =>
    host.runtime.as({ id: owner, owner, roles: ["user"] }),
  ) as [Runtime, Runtime];
  for (const id of ["first", "second"])
    await ann.process("peer", { ...run("ask_after", { ms: 0, to: "" }, id), key: id });
  await advance(host, 3);
  await bob.process("peer", { ...run("ask_after", { ms: 10, to: "b" }, "first"), key: "a" });
  await bob.process("peer", { ...run("ask_after", { ms: 10, to: "a" }, "second"), key: "b" });
  await advance(host, 10);
  const { runs } = await bob.runs({ agent: "peer", limit: 10 });
  const events = (await Promise.all(runs.map(({ run_id }) => host.events(run_id)))).flat();
  expect(events.filter(({ type }) => type === "ToolError")).toMatchObject([{ code: "would_deadlock" }]);
  expect(await host.log.open()).toEqual([]);
});

test.each([0, 1, 2, 3, 4, 5, 6, 7])(
  "two actors that ask each other get one would_deadlock when commit %i fails and is in the log",
  async (after) => {
    const host = new TestHost({ agents });
    await host.ask("peer", { ...run("ask_after", { ms: 10, to: "b" }, "first"), key: "a" });
    await host.ask("peer", { ...run("ask_after", { ms: 10, to: "a" }, "second"), key: "b" });
    host.planFault({ kind: "failure", written: true, after });
    await advance(host, 3);
    expect(host.runtime.health().log.writable).toBe(false);
    host.repair();
    await advance(host, 20);
    const errors = [...(await host.events("first")), ...(await host.events("second"))].filter(
      ({ type }) => type === "ToolError",
    );
    expect(errors).toMatchObject([{ code: "would_deadlock" }]);
    expect(await host.log.open()).toEqual([]);
  },
);

test("actors that wait for each other are examined again when the log could not be read", async () => {
  const host = new TestHost({ agents });
  const lookup = host.log.lookup.bind(host.log);
  let failed = 0;
  let isGone = false;
  vi.spyOn(host.log, "lookup").mockImplementation((id) => {
    if (!isGone) return lookup(id);
    failed += 1;
    return Promise.reject(new Error("the disk is gone"));
  });
  await host.restart();
  await host.ask("peer", { ...run("ask_after", { ms: 10, to: "b" }, "first"), key: "a" });
  await host.ask("peer", { ...run("ask_after", { ms: 10, to: "a" }, "second"), key: "b" });
  await host.environment.advance(10);
  await host.environment.advance(1_000);
  isGone = true;
  await advance(host, 5);
  expect(failed).toBeGreaterThan(0);
  isGone = false;
  await advance(host, 20);
  const events = [...(await host.events("first")), ...(await host.events("second"))];
  expect(events.filter(({ type }) => type === "ToolError")).toMatchObject([{ code: "would_deadlock" }]);
});

test("the parked actors are not read again while a run cannot be loaded", async () => {
  const host = new TestHost({ agents });
  await host.ask("user", run("ask_bad", { operation: "hold" }));
  await host.ask("peer", { ...run("ask_after", { ms: 1_000, to: "b" }, "first"), key: "a" });
  const damaged = await host.runtime.find("peer", "a");
  const { claim, parked } = host.log;
  let tries = 0;
  let reads = 0;
  Object.assign(host.log, {
    claim: (runId: RunId) => {
      if (runId !== damaged) return claim(runId);
      tries += 1;
      return Promise.reject(new Error("the run is damaged"));
    },
    parked: (query: ParkedQuery) => {
      reads += 1;
      return parked(query);
    },
  });
  await host.restart();
  await advance(host, 10);
  const atStart = reads;
  expect(atStart).toBeGreaterThan(0);
  await advance(host, 300);
  expect(tries).toBeGreaterThan(5);
  expect(reads).toBe(atStart);
});

test("actors that waited for each other when the process died are found by the next one", async () => {
  const host = new TestHost({ agents });
  for (const [key, to] of [
    ["a", "b"],
    ["b", "c"],
    ["c", "a"],
  ] as const)
    await host.ask("peer", { ...run("ask_after", { ms: 10, to }, `from-${key}`), key });
  await host.environment.advance(10);
  await host.environment.advance(1_000);
  await host.restart();
  expect(await host.log.parked({ limit: 10 })).toHaveLength(3);
  await advance(host, 10);
  const all = await Promise.all(["a", "b", "c"].map((key) => host.events(`from-${key}`)));
  expect(all.flat().filter(({ type }) => type === "ToolError")).toMatchObject([{ code: "would_deadlock" }]);
  expect(all.map((events) => events.at(-1)?.type)).toEqual(Array(3).fill("RequestCompleted"));
});

test("an ask whose actor only works long, or waits for a person, is not refused", async () => {
  const host = new TestHost({ agents });
  await host.ask("peer", { ...run("ask_later", { to: "a" }, "first"), key: "b" });
  await host.ask("peer", { ...run("ask_after", { ms: 10, to: "b" }, "second"), key: "a" });
  await advance(host, 30);
  expect(await host.runtime.status("second")).toMatchObject({ status: "running" });
  await host.ask("peer", { type: "CancelRequest", request_id: "first" });
  await advance(host, 2);
  expect((await host.events("second")).at(-1)).toMatchObject({ output: "end" });
});

test("a turn that asks two actors at once, which both wait for it, gets one would_deadlock for each", async () => {
  const host = new TestHost({ agents });
  for (const key of ["b", "c"])
    await host.ask("peer", { ...run("ask_after", { ms: 10, to: "a" }, `from-${key}`), key });
  await host.ask("peer", { ...run("ask_both_after", { ms: 10, keys: ["b", "c"] }, "first"), key: "a" });
  await advance(host, 20);
  const all = await Promise.all(["first", "from-b", "from-c"].map((id) => host.events(id)));
  expect(all.map((events) => events.at(-1)?.type)).toEqual(Array(3).fill("RequestCompleted"));
  expect(await host.log.open()).toEqual([]);
});
