import { defineAgent, operation } from "troupe";
import type { Agent } from "troupe";
import type { RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost } from "../test-host.ts";

const nothing = z.object({});

/** A counter that can be read while it asks a person, and code that it can be changed to. */
function counter(isOther = false): Agent {
  return defineAgent({
    name: "counter",
    purpose: "Counts.",
    memorySchema: z.object({ count: z.number() }).default({ count: 0 }),
    operations: (operation) => ({
      add: operation({
        input: z.object({ by: z.number() }),
        run({ by }, turn) {
          turn.memory.set({ count: turn.memory.get().count + by });
        },
      }),
      confirm: operation({
        input: nothing,
        async run(_input, turn) {
          if (isOther) await turn.text("Other code.");
          const { ok } = await turn.waitForInput({ ok: "Is it right?" });
          return ok;
        },
      }),
      count: operation({ read: true, input: nothing, run: (_input, turn) => turn.memory.get().count }),
    }),
  });
}

const key = "one";
const ask = (operation: string, input: object = {}, request_id?: RequestId) =>
  ({
    type: "OperationRequest",
    operation,
    input: input as never,
    key,
    ...(request_id && { request_id }),
  }) as const;

async function countOf(host: TestHost, agent: Agent): Promise<unknown> {
  const count = host.runtime.ask(agent, "count" as never, {}, { key });
  await host.environment.idle();
  return count;
}

test("a read answers beside a turn that waits, from what is committed, and changes nothing in the log", async () => {
  const agent = counter();
  const host = new TestHost({ agents: [agent] });
  expect(await countOf(host, agent)).toBe(0);
  expect((await host.runtime.runs({ limit: 9 })).runs).toEqual([]);

  await host.ask("counter", ask("add", { by: 3 }));
  await host.ask("counter", ask("confirm", {}, "confirm"));
  expect(await host.runtime.status("confirm")).toMatchObject({ status: "waiting" });
  const { run_id: runId } = await host.runtime.status("confirm");
  const before = await host.log.read(runId, { after: 0, records: true });
  const reads = Array.from({ length: 1_000 }, () => host.runtime.ask(agent, "count" as never, {}, { key }));
  await host.environment.idle();
  expect(new Set(await Promise.all(reads))).toEqual(new Set([3]));
  expect(await host.log.read(runId, { after: 0, records: true })).toEqual(before);
  expect(await host.runtime.status("confirm")).toMatchObject({ status: "waiting" });
});

test("a read answers for an actor that is in no memory, and one whose turn is held, in a later process", async () => {
  const host = new TestHost({ agents: [counter()], limits: { idleRuns: 0 } });
  await host.ask("counter", ask("add", { by: 3 }));
  await host.ask("counter", ask("confirm", {}, "confirm"));
  expect(host.runtime.health().activeRuns).toBe(0);
  const other = counter(true);
  host.crash();
  await host.restart([other]);
  expect(await countOf(host, other)).toBe(3);
  await host.ask("counter", { type: "ResumeWithInput", request_id: "confirm", request_keys: { ok: true } });
  expect(await host.runtime.status("confirm")).toMatchObject({ status: "held" });
  expect(await countOf(host, other)).toBe(3);
  expect(await host.runtime.status("confirm")).toMatchObject({ status: "held" });
});

test("what has been set in an open turn is not read before the turn has ended", async () => {
  const agent = defineAgent({
    name: "keeper",
    purpose: "Keeps.",
    operations: (operation) => ({
      keep: operation({
        input: nothing,
        async run(_input, turn) {
          turn.memory.set("new");
          await turn.sleep(60_000);
        },
      }),
      kept: operation({ read: true, input: nothing, run: (_input, turn) => turn.memory.get() ?? null }),
    }),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("keeper", ask("keep"));
  const read = async (): Promise<unknown> => {
    const kept = host.runtime.ask(agent, "kept", {}, { key });
    await host.environment.idle();
    return kept;
  };
  expect(await read()).toBe(null);
  await host.environment.advance(60_000);
  expect(await read()).toBe("new");
});

test("an operation that reads cannot write, call, wait or tell, and says so", async () => {
  const wrongs = {
    write: (turn: never) => (turn as { memory: { set(value: unknown): void } }).memory.set(1),
    call: (turn: never) => (turn as { call(...args: unknown[]): unknown }).call(agent, "add", {}),
    wait: (turn: never) => (turn as { waitForInput(keys: object): unknown }).waitForInput({ ok: "?" }),
    tell: (turn: never) => (turn as { tell(...args: unknown[]): unknown }).tell({}, "add", {}),
    use: (turn: never) => (turn as { uses: unknown }).uses,
  };
  const agent: Agent = defineAgent({
    name: "reader",
    purpose: "Reads.",
    operations: Object.fromEntries(
      Object.entries(wrongs).map(([name, run]) => [
        name,
        operation({ read: true, input: nothing, run: (_input, turn) => void run(turn as never) }),
      ]),
    ),
  });
  const host = new TestHost({ agents: [agent] });
  for (const [name, missing] of Object.entries({
    write: "memory.set",
    call: "call",
    wait: "waitForInput",
    tell: "tell",
    use: "uses",
  })) {
    await expect(host.runtime.ask(agent, name as never, {})).rejects.toMatchObject({
      code: "call_failed",
      message: `operation ${name} of agent reader only reads, so it has no turn.${missing}; remove its option read`,
    });
  }
});

test("a turn asks an actor that is busy with a read, and a replayed turn gets the same answer", async () => {
  const agent = counter();
  const caller = defineAgent({
    name: "caller",
    purpose: "Asks the counter twice.",
    async chat(_input, turn) {
      const first = await turn.ask(turn.actor(agent, key), "count" as never, {});
      await turn.sleep(60_000);
      const second = await turn.ask(turn.actor(agent, key), "count" as never, {});
      return `${String(first)} then ${String(second)}`;
    },
  });
  const host = new TestHost({ agents: [agent, caller] });
  await host.ask("counter", ask("add", { by: 1 }));
  await host.ask("caller", { type: "ChatRequest", input: "", request_id: "asked" });
  await host.ask("counter", ask("add", { by: 1 }));
  await host.ask("counter", ask("confirm", {}, "confirm"));
  host.crash();
  await host.restart();
  await host.environment.advance(60_000);
  expect(await host.runtime.status("asked")).toMatchObject({ result: "1 then 2" });
  expect(ofType(await host.events("asked"), "ToolResult").map(({ result }) => result)).toEqual([1, 2]);
  const { run_id: runId } = await host.runtime.status("confirm");
  expect((await host.runtime.requests(runId)).length).toBe(3);
});

test("at most sixteen operations read an actor at a time", async () => {
  let running = 0;
  let most = 0;
  const open: (() => void)[] = [];
  const agent = defineAgent({
    name: "slow",
    purpose: "Is read slowly.",
    operations: (operation) => ({
      begin: operation({ input: nothing, run: () => null }),
      look: operation({
        read: true,
        input: nothing,
        async run() {
          running += 1;
          most = Math.max(most, running);
          const { promise, resolve } = Promise.withResolvers<void>();
          open.push(resolve);
          await promise;
          running -= 1;
        },
      }),
    }),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("slow", ask("begin"));
  const looks = Array.from({ length: 40 }, () => host.runtime.ask(agent, "look", {}, { key }));
  for (let ended = 0; ended < 40;) {
    await host.environment.idle();
    ended += open.length;
    for (const end of open.splice(0)) end();
  }
  await host.environment.idle();
  await Promise.all(looks);
  expect(most).toBe(16);
});

test("an actor whose run was renewed is read in its new run, by clients and by turns", async () => {
  const agent = counter();
  const caller = defineAgent({
    name: "caller",
    purpose: "Asks the counter.",
    chat: async (_input, turn) => String(await turn.ask(turn.actor(agent, key), "count" as never, {})),
  });
  const host = new TestHost({ agents: [agent, caller], limits: { keyedRunEvents: 3 } });
  for (let added = 0; added < 6; added += 1) await host.ask("counter", ask("add", { by: 1 }));
  expect((await host.runtime.runs({ agent: "counter", limit: 99 })).runs.length).toBeGreaterThan(1);
  expect(await countOf(host, agent)).toBe(6);
  await host.ask("caller", { type: "ChatRequest", input: "", request_id: "asked" });
  expect(await host.runtime.status("asked")).toMatchObject({ result: "6" });
});

test("a read counts as use of an actor that is removed when it is idle", async () => {
  const agent = defineAgent({
    name: "kept",
    purpose: "Is removed when nobody uses it.",
    memorySchema: z.number().default(0),
    expireMs: 3_600_000,
    operations: (operation) => ({
      add: operation({ input: nothing, run: (_input, turn) => turn.memory.set(turn.memory.get() + 1) }),
      count: operation({ read: true, input: nothing, run: (_input, turn) => turn.memory.get() }),
    }),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("kept", ask("add"));
  const { runs } = await host.runtime.runs({ limit: 1 });
  const before = (await host.events(runs[0]?.run_id ?? "")).length;
  for (let half = 0; half < 6; half += 1) {
    await host.environment.advance(1_800_000);
    expect(await countOf(host, agent)).toBe(1);
  }
  expect(await host.events(runs[0]?.run_id ?? "")).toHaveLength(before);
  await host.environment.advance(5 * 3_600_000);
  expect(await countOf(host, agent)).toBe(0);
});

test("an operation that only reads cannot be scheduled", async () => {
  const read = operation({ read: true, input: nothing, run: () => 1 });
  expect(() =>
    defineAgent({
      name: "timed",
      purpose: "Is read at fixed times.",
      operations: { read },
      schedules: { often: { cron: "* * * * *", operation: "read" } },
    }),
  ).toThrow("schedule often of agent timed calls the operation read, which only reads");
  const agent = defineAgent({
    name: "later",
    purpose: "Is read later.",
    operations: (own) => ({
      read: own({ read: true, input: nothing, run: () => 1 }),
      go: own({
        input: nothing,
        async run(_input, turn): Promise<string> {
          return turn
            .schedule(turn.actor(agent as never, turn.self), "read" as never, {} as never, { afterMs: 1 })
            .then(
              () => "scheduled",
              (error: unknown) => (error as Error).message,
            );
        },
      }),
    }),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("later", { ...ask("go", {}, "go") });
  expect((await host.events("go")).at(-1)).toMatchObject({
    output:
      "operation read of agent later only reads, so it cannot be told or scheduled: its answer would be lost",
  });
});
