import { defineAgent, fromMachine, operation } from "troupe";
import type { Runtime } from "troupe";
import type { Request } from "troupe/protocol";
import { expect, test } from "vitest";
import { assign, createMachine, fromPromise, setup } from "xstate";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";

const purpose = "Takes orders.";

/** Waits for a person; an item can be added and the order be aborted at any time until it is sent. */
const machine = setup({
  types: { context: {} as { readonly items: readonly string[] } },
  actions: {
    add: assign({
      items: ({ context, event }) => [...context.items, (event as unknown as { item: string }).item],
    }),
  },
}).createMachine({
  context: { items: [] },
  initial: "open",
  on: { abort: ".aborted" },
  states: {
    open: { on: { book: { target: "booked", actions: "add" } } },
    booked: {
      tags: "wait",
      meta: { request_keys: { ok: "Send?" } },
      on: {
        book: {
          guard: ({ event }) => {
            if (event["item"] === "poison") throw new Error("cannot tell");
            return event["item"] !== "stone";
          },
          actions: "add",
        },
        resume: "packing",
      },
    },
    packing: { after: { 60_000: "sent" } },
    sent: { type: "final" },
    aborted: { type: "final" },
  },
  output: ({ context }) => context,
});

const order = fromMachine({
  name: "order",
  purpose,
  machine,
  operations: {
    book: operation({ input: z.object({ item: z.string() }) }),
    abort: operation({}),
  },
});

const book = (item: string, more: object = {}): Request => ({
  type: "OperationRequest",
  operation: "book",
  input: { item },
  ...more,
});
const abort = (more: object = {}): Request => ({
  type: "OperationRequest",
  operation: "abort",
  input: {},
  ...more,
});

test("an operation that the machine takes joins the open turn in one commit", async () => {
  const host = new TestHost({ agents: [order] });
  const { runId } = await host.ask("order", book("lamp", { request_id: asked }));
  const before = await host.events(runId ?? "");
  const { commits } = host;
  const receipt = await host.ask("order", book("chair", { run_id: runId, request_id: "second" }));
  expect(host.commits).toBe(commits + 1);
  expect(receipt).toMatchObject({ requestId: "second", replayed: false });

  const events = (await host.events(runId ?? "")).slice(before.length);
  expect(events.map(({ type, request_id: id }) => [type, id])).toEqual([
    ["RequestStarted", "second"],
    ["MessageReceived", asked],
    ["StateChanged", asked],
    ["RequestCompleted", "second"],
  ]);
  expect(ofType(events, "MessageReceived")).toMatchObject([
    { message_id: "second", name: "book", body: { item: "chair" } },
  ]);
  expect(ofType(events, "StateChanged")).toMatchObject([{ value: "booked", cause: "book" }]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", output: null });
  expect(await host.runtime.status("second")).toMatchObject({ status: "completed" });
  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting", accepts: ["book", "abort"] });
  expect(await host.ask("order", book("chair", { run_id: runId, request_id: "second" }))).toMatchObject({
    replayed: true,
  });

  await host.ask("order", { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } });
  await host.environment.advance(60_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ output: { items: ["lamp", "chair"] } });
  expect(host.faults).toEqual([]);
});

test.each([
  ["in memory", false],
  ["after a restart", true],
])("an operation ends a machine that waits for a person: %s", async (_, restarts) => {
  const host = new TestHost({ agents: [order], limits: { idleRuns: 0 } });
  const { runId } = await host.ask("order", book("lamp", { request_id: asked }));
  if (restarts) await host.restart();
  await host.ask("order", abort({ run_id: runId }));
  const events = await host.events(asked);
  expect(ofType(events, "StateChanged").at(-1)).toMatchObject({ value: "aborted", status: "done" });
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", output: { items: ["lamp"] } });
  expect(await host.runtime.run(runId ?? "")).toMatchObject({ status: "idle" });
});

test("an operation joins a turn whose machine sleeps in a delay, also after a restart", async () => {
  const host = new TestHost({ agents: [order], limits: { idleRuns: 0 } });
  const { runId } = await host.ask("order", book("lamp", { request_id: asked }));
  await host.ask("order", { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } });
  await host.restart();
  await host.ask("order", abort({ run_id: runId }));
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});

test.each([
  ["a guard that refuses", "stone"],
  ["a guard that throws", "poison"],
])("an operation that the machine does not take is refused and changes nothing: %s", async (_, item) => {
  const host = new TestHost({ agents: [order] });
  const { runId } = await host.ask("order", book("lamp", { request_id: asked }));
  const { commits } = host;
  await expect(host.ask("order", book(item, { run_id: runId, request_id: "second" }))).rejects.toMatchObject({
    code: "not_accepted",
    message: 'agent order does not take book in its state "booked"',
    details: { facts: { accepts: ["book", "abort"] }, hint: "it takes book, abort" },
  });
  expect(host.commits).toBe(commits);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting" });
  await expect(host.runtime.status("second")).rejects.toMatchObject({ code: "not_found" });
});

test("a machine that waits is passivated again after it has refused an operation", async () => {
  const host = new TestHost({ agents: [order], limits: { idleRuns: 0 } });
  const { runId } = await host.ask("order", book("lamp", { request_id: asked }));
  expect(host.runtime.health()).toMatchObject({ activeRuns: 0 });
  await expect(host.ask("order", book("stone", { run_id: runId }))).rejects.toMatchObject({
    code: "not_accepted",
  });
  expect(host.runtime.health()).toMatchObject({ activeRuns: 0 });

  await host.ask("order", book("chair", { run_id: runId }));
  await host.ask("order", abort({ run_id: runId }));
  expect((await host.events(asked)).at(-1)).toMatchObject({ output: { items: ["lamp", "chair"] } });
});

test("on_busy works as for every other agent", async () => {
  const host = new TestHost({ agents: [order] });
  const { runId } = await host.ask("order", book("lamp", { request_id: asked }));
  await expect(host.ask("order", book("chair", { run_id: runId, on_busy: "reject" }))).rejects.toMatchObject({
    code: "conflict",
  });
  await host.ask("order", book("chair", { run_id: runId, on_busy: "enqueue", request_id: "later" }));
  expect(await host.runtime.status("later")).toMatchObject({ status: "queued" });
  await host.ask("order", book("table", { run_id: runId, on_busy: "interrupt", request_id: "now" }));
  expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "canceled" });
  expect(await host.runtime.status("now")).toMatchObject({ status: "waiting", state: "booked" });
});

/** Rests after each operation until it is sent. */
const resting = fromMachine({
  name: "resting",
  purpose,
  machine: createMachine({
    initial: "open",
    states: { open: { on: { book: "booked" } }, booked: { on: { abort: "open" } } },
  }),
  operations: { book: operation({ input: z.object({ item: z.string() }) }), abort: operation({}) },
});

test("an idle run and a new one refuse an operation that their machine does not take", async () => {
  const host = new TestHost({ agents: [resting] });
  await expect(host.ask("resting", abort())).rejects.toMatchObject({
    code: "not_accepted",
    details: { facts: { accepts: ["book"] } },
  });
  expect((await host.runtime.runs({ limit: 9 })).runs).toEqual([]);
  const { runId } = await host.ask("resting", book("lamp"));
  await expect(host.ask("resting", book("lamp", { run_id: runId }))).rejects.toMatchObject({
    code: "not_accepted",
    details: { facts: { accepts: ["abort"] } },
  });
  await host.ask("resting", abort({ run_id: runId, request_id: asked }));
  expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "success", state: "open" });
});

test("a chat, or a queued operation, that the machine does not take ends its turn with an error", async () => {
  const host = new TestHost({ agents: [order, resting] });
  await host.ask("resting", { type: "ChatRequest", input: "hello", request_id: asked });
  expect(await host.runtime.status(asked)).toMatchObject({
    finish_reason: "error",
    error: { code: "not_accepted", message: 'agent resting does not take chat in its state "open"' },
  });
  const { runId } = await host.ask("order", book("lamp", { request_id: "first" }));
  await host.ask("order", book("stone", { run_id: runId, on_busy: "enqueue", request_id: "queued" }));
  await host.ask("order", { type: "CancelRequest", request_id: "first" });
  expect(await host.runtime.status("queued")).toMatchObject({ status: "waiting" });
});

test("a machine that is called by another agent fails the call with not_accepted", async () => {
  const boss = defineAgent({
    name: "boss",
    purpose: "Calls a machine.",
    async chat(_input, turn) {
      return turn.call(resting, "abort", {}).then(
        () => "taken",
        (error: unknown) => (error as { code: string }).code,
      );
    },
  });
  const host = new TestHost({ agents: [boss, resting] });
  await host.ask("boss", { type: "ChatRequest", input: "", request_id: asked });
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "not_accepted" });
});

test("actors join a turn too, and get its refusals", async () => {
  const boss = defineAgent({
    name: "boss",
    purpose: "Tells an order.",
    async chat(_input, turn) {
      const one = turn.actor(order, "o-1");
      await turn.ask(one, "book", { item: "chair" });
      await turn.ask(one, "book", { item: "stone" }).catch(async (error: unknown) => {
        await turn.text((error as { code: string }).code);
      });
      await turn.ask(one, "abort", {});
      return "aborted";
    },
  });
  const host = new TestHost({ agents: [boss, order] });
  await host.ask("order", book("lamp", { key: "o-1", request_id: "order" }));
  await host.ask("boss", { type: "ChatRequest", input: "", request_id: asked });
  await host.environment.advance(1_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success", result: "aborted" });
  expect(ofType(await host.events(asked), "TextOutput")).toMatchObject([{ content: "not_accepted" }]);
  expect((await host.events("order")).at(-1)).toMatchObject({ output: { items: ["lamp", "chair"] } });
});

test("a result that arrives with an operation stays behind it: neither is lost", async () => {
  let finish = (): void => {};
  const agent = fromMachine({
    name: "busy",
    purpose,
    effect: "idempotent",
    machine: setup({
      types: { context: {} as { readonly done: boolean; readonly notes: number } },
      actors: {
        work: fromPromise(
          () =>
            new Promise<void>((resolve) => {
              finish = resolve;
            }),
        ),
      },
    }).createMachine({
      context: { done: false, notes: 0 },
      initial: "open",
      states: {
        open: { on: { start: "working" } },
        working: {
          invoke: { src: "work", onDone: { target: "end", actions: assign({ done: true }) } },
          on: { note: { actions: assign({ notes: ({ context }) => context.notes + 1 }) } },
        },
        end: { type: "final" },
      },
      output: ({ context }) => context,
    }),
    operations: { start: operation({}), note: operation({}) },
  });
  const host = new TestHost({ agents: [agent] });
  const ask = (name: string, more: object): ReturnType<Runtime["process"]> =>
    host.runtime.process("busy", {
      type: "OperationRequest",
      operation: name,
      input: {},
      ...more,
    });
  const { runId } = await host.ask("busy", {
    type: "OperationRequest",
    operation: "start",
    input: {},
    request_id: asked,
  });
  finish();
  const noted = ask("note", { run_id: runId }).catch(() => {});
  await host.environment.idle();
  await noted;
  await host.environment.idle();
  const end = (await host.events(asked)).at(-1);
  expect(end).toMatchObject({ finish_reason: "success", output: { done: true } });
});

test("a fork inside an open turn is refused", async () => {
  const host = new TestHost({ agents: [order] });
  const { runId } = await host.ask("order", book("lamp", { request_id: asked }));
  await host.ask("order", book("chair", { run_id: runId }));
  const events = await host.events(runId ?? "");
  const end = events.findLast(({ type }) => type === "RequestCompleted");
  await expect(host.runtime.fork(runId ?? "", { after: end?.id ?? 0 })).rejects.toMatchObject({
    code: "conflict",
  });
});

test("after a crash at any commit a joined operation has taken effect once, or not at all", async () => {
  for (let commit = 1; commit <= 12; commit += 1) {
    for (const written of [false, true]) {
      const host = new TestHost({ agents: [order], commitFaults: [{ commit, kind: "crash", written }] });
      // A process that dies gives no answer, so each request is sent again.
      const send = async (request: Request): Promise<void> => {
        for (let time = 0; time < 2; time += 1) {
          host.runtime.process("order", request).catch(() => {});
          await host.environment.idle();
          if (host.crashed) await host.restart();
        }
      };
      await send(book("lamp", { key: "k", request_id: asked }));
      await send(book("chair", { key: "k", request_id: "second" }));
      await send({ type: "ResumeWithInput", request_id: asked, request_keys: { ok: true }, resume_id: "r" });
      for (let time = 0; time < 2; time += 1) {
        await host.environment.advance(60_000);
        if (host.crashed) await host.restart();
      }
      const events = await host.events(asked);
      expect(events.at(-1)).toMatchObject({ output: { items: ["lamp", "chair"] } });
      expect(ofType(events, "StateChanged").map(({ value }) => value)).toEqual([
        "booked",
        "booked",
        "packing",
        "sent",
      ]);
      expect(ofType(await host.events("second"), "RequestCompleted")).toHaveLength(1);
    }
  }
});
