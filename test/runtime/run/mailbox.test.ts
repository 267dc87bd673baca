import { defineAgent, operation } from "troupe";
import type { MailboxOptions } from "troupe";
import type { JsonObject } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { TestHost } from "../test-host.ts";

const job = z.object({ id: z.string(), due: z.unknown().optional(), of: z.string().optional() });

/** An actor that works for a second at first, and then takes what has come meanwhile. */
function desk(mailbox?: MailboxOptions) {
  return defineAgent({
    name: "desk",
    purpose: "Works on one job after the other.",
    ...(mailbox && { mailbox }),
    messages: { note: z.object({ id: z.string(), of: z.string().optional() }) },
    operations: (own) => ({
      begin: own({
        input: z.object({}),
        async run(_input, turn) {
          await turn.sleep(1_000);
        },
      }),
      work: own({
        input: job,
        run({ id }, turn) {
          turn.memory.set([...((turn.memory.get() ?? []) as string[]), id]);
        },
      }),
      urgent: own({
        input: job,
        priority: 1,
        run({ id }, turn) {
          turn.memory.set([...((turn.memory.get() ?? []) as string[]), id]);
        },
      }),
      done: own({
        input: z.object({}),
        priority: -1,
        run: (_input, turn) => [
          ...((turn.memory.get() ?? []) as string[]),
          ...turn.received("note").map(({ id }) => id),
        ],
      }),
    }),
  });
}

const teller = (to: ReturnType<typeof desk>) =>
  defineAgent({
    name: "teller",
    purpose: "Tells the desk its jobs.",
    operations: {
      all: operation({
        input: z.object({ ids: z.array(z.string()) }),
        async run({ ids }, turn) {
          const actor = turn.actor(to, "a");
          const told = await Promise.allSettled(ids.map((id) => turn.tell(actor, "work", { id })));
          return told.map((one) =>
            one.status === "fulfilled" ? "taken" : (one.reason as { code: string }).code,
          );
        },
      }),
    },
  });

class Desk {
  readonly host: TestHost;

  constructor(mailbox?: MailboxOptions) {
    const agent = desk(mailbox);
    this.host = new TestHost({ agents: [agent, teller(agent)] });
  }

  async begin(): Promise<void> {
    await this.send("begin", {});
  }

  send(operation: string, input: JsonObject, id?: string) {
    const request = { type: "OperationRequest", operation, input, key: "a" } as const;
    return this.host.ask("desk", { ...request, ...(id !== undefined && { request_id: id }) });
  }

  note(body: JsonObject) {
    return this.host.ask("desk", { type: "Message", name: "note", body, key: "a" });
  }

  /** Ends the work, and asks what was done in which order. */
  async done(): Promise<unknown> {
    await this.host.environment.advance(1_000);
    // Those that wait for room try again after a pause.
    await this.host.environment.advance(1_000);
    await this.send("done", {}, "done");
    return (await this.host.events("done")).at(-1);
  }
}

describe("the order of a mailbox", () => {
  test("is that of acceptance by default, and a higher priority comes first", async () => {
    const at = new Desk();
    await at.begin();
    await at.send("work", { id: "a" });
    await at.send("urgent", { id: "b" });
    await at.send("work", { id: "c" });
    await at.send("urgent", { id: "d" });
    expect(await at.done()).toMatchObject({ output: ["b", "d", "a", "c"] });
  });

  test("can be that of a field of the input, also after a restart", async () => {
    const at = new Desk({ order: { by: "due" } });
    await at.begin();
    for (const [id, due] of [
      ["a", 3],
      ["b", 1],
      ["c", "x"],
      ["d", null],
      ["e", 2],
      ["f", 1],
    ] as const)
      await at.send("work", { id, due });
    await at.host.restart();
    expect(await at.done()).toMatchObject({ output: ["b", "f", "e", "a", "c", "d"] });
  });

  test("can begin with the largest value", async () => {
    const at = new Desk({ order: { by: "due", descending: true } });
    await at.begin();
    for (const [id, due] of [
      ["a", 1],
      ["b", 3],
      ["c", 2],
    ] as const)
      await at.send("work", { id, due });
    expect(await at.done()).toMatchObject({ output: ["b", "c", "a"] });
  });
});

describe("the order of a function", () => {
  const due = [
    ["a", 3],
    ["b", 1],
    ["c", 1],
    ["d", 2],
  ] as const;

  test("compares two inputs, and keeps the order of acceptance where they are equal, also after a restart", async () => {
    const at = new Desk({ order: (one: { due: number }, other: { due: number }) => one.due - other.due });
    await at.begin();
    for (const [id, each] of due) await at.send("work", { id, due: each });
    await at.host.restart();
    expect(await at.done()).toMatchObject({ output: ["b", "c", "d", "a"] });
  });

  test.each([
    ["throws", () => never()],
    ["gives no number", () => "first" as unknown as number],
    ["gives NaN", () => Number.NaN],
    ["never says that it is done", () => -1],
    ["changes what it gets", (one: { due: number }) => (one.due = Number.NaN)],
  ])("takes each request once if it %s", async (_what, order) => {
    const at = new Desk({ order });
    await at.begin();
    for (const [id, each] of due) await at.send("work", { id, due: each });
    const end = (await at.done()) as { readonly output: readonly string[] };
    expect([...end.output].sort()).toEqual(["a", "b", "c", "d"]);
  });

  function never(): never {
    throw new Error("no order");
  }
});

describe("a full mailbox", () => {
  test("refuses clients, and actors wait for room, by default", async () => {
    const at = new Desk({ capacity: 2 });
    await at.begin();
    await at.host.ask("teller", {
      type: "OperationRequest",
      operation: "all",
      input: { ids: ["a", "b", "c"] },
      request_id: "told",
    });
    await expect(at.send("work", { id: "d" })).rejects.toMatchObject({ code: "overloaded" });
    expect(await at.done()).toMatchObject({ output: ["a", "b", "c"] });
    expect((await at.host.events("told")).at(-1)).toMatchObject({ output: ["taken", "taken", "taken"] });
  });

  test("refuses actors at once with full: refuse", async () => {
    const at = new Desk({ capacity: 2, full: "refuse" });
    await at.begin();
    await at.host.ask("teller", {
      type: "OperationRequest",
      operation: "all",
      input: { ids: ["a", "b", "c"] },
      request_id: "told",
    });
    expect((await at.host.events("told")).at(-1)).toMatchObject({ output: ["taken", "taken", "overloaded"] });
    expect(await at.done()).toMatchObject({ output: ["a", "b"] });
  });

  test("lets clients wait for room with full: wait", async () => {
    const at = new Desk({ capacity: 1, full: "wait" });
    await at.begin();
    await at.send("work", { id: "a" });
    const waiting = at.host.runtime.process("desk", {
      type: "OperationRequest",
      operation: "work",
      input: { id: "b" },
      key: "a",
    });
    await at.host.environment.idle();
    expect(await at.done()).toMatchObject({ output: ["a", "b"] });
    await expect(waiting).resolves.toMatchObject({ replayed: false });
  });

  test("drops the oldest with full: drop-oldest, whose caller gets overloaded", async () => {
    const at = new Desk({ capacity: 2, full: "drop-oldest" });
    await at.begin();
    for (const id of ["a", "b", "c"]) await at.send("work", { id }, id);
    expect((await at.host.events("a")).at(-1)).toMatchObject({
      finish_reason: "error",
      error: { code: "overloaded", message: "the mailbox was full, and request c took its place" },
    });
    for (const id of ["n1", "n2", "n3"]) await at.note({ id });
    await at.host.restart();
    expect(await at.done()).toMatchObject({ output: ["b", "c", "n2", "n3"] });
  });
});

test("coalesce keeps the newest of a key, of requests and of messages", async () => {
  const at = new Desk({
    coalesce: (input) => (input as { readonly of?: string }).of,
  });
  await at.begin();
  await at.send("work", { id: "a1", of: "a" }, "first");
  await at.send("work", { id: "b1", of: "b" });
  await at.send("work", { id: "free" });
  await at.send("work", { id: "a2", of: "a" }, "second");
  await at.send("urgent", { id: "a3", of: "a" });
  await at.note({ id: "n1", of: "n" });
  await at.note({ id: "n2" });
  await at.note({ id: "n3", of: "n" });
  expect((await at.host.events("first")).at(-1)).toMatchObject({
    finish_reason: "canceled",
    error: { code: "canceled", message: "request second has replaced it" },
  });
  await at.host.restart();
  expect(await at.done()).toMatchObject({ output: ["a3", "b1", "free", "a2", "n2", "n3"] });
});

test("a coalesce that throws or gives no text refuses what it is asked about, and nothing else is lost", async () => {
  const at = new Desk({
    coalesce: (input) => {
      const { of } = input as { readonly of?: string };
      if (of === "bad") throw new Error("no key");
      return of === "odd" ? (1 as never) : of;
    },
  });
  await at.begin();
  await at.send("work", { id: "a", of: "a" });
  await expect(at.send("work", { id: "b", of: "bad" })).rejects.toMatchObject({
    code: "unprocessable",
    message: "the coalesce of agent desk threw for work: no key",
  });
  await expect(at.send("work", { id: "c", of: "odd" })).rejects.toMatchObject({ code: "unprocessable" });
  await expect(at.note({ id: "n", of: "bad" })).rejects.toMatchObject({ code: "unprocessable" });
  expect(await at.done()).toMatchObject({ output: ["a"] });
});

test.each([
  [
    { order: "lifo" },
    'the mailbox of agent desk has the order "lifo"; use "fifo", { by: "field" } or a function of two inputs',
  ],
  [{ capacity: 0 }, "the mailbox of agent desk needs a capacity of 1 or more"],
  [{ full: "never" }, 'the mailbox of agent desk has the value "never" for full'],
  [{ coalesce: "id" }, "the mailbox of agent desk has a coalesce that is no function"],
  [{ size: 3 }, "the mailbox of agent desk has an option size"],
  ["fifo", "the mailbox of agent desk is not an object"],
])("a mailbox %j is refused when the agent is defined", (mailbox, message) => {
  expect(() => desk(mailbox as never)).toThrow(message);
});

test("a priority that is no number is refused", () => {
  const wrong = operation({ input: z.object({}), priority: "high" as never, run: () => null });
  expect(() => defineAgent({ name: "desk", purpose: "-", operations: { wrong } })).toThrow(
    "the priority of operation wrong of agent desk is not a number",
  );
});
