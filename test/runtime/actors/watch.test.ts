import { defineAgent, ended } from "troupe";
import type { Ended } from "troupe";
import type { Event } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { TestHost } from "../test-host.ts";
import { send, stepOverDeaths } from "./steps.ts";

const worker = defineAgent({
  name: "worker",
  purpose: "Works, or fails.",
  operations: (own) => ({
    work: own({
      input: z.object({ fails: z.boolean().default(false) }),
      run({ fails }): string {
        if (fails) throw new Error("the tool broke");
        return "done";
      },
    }),
    hold: own({ input: z.object({}), run: (_input, turn) => turn.waitForInput({ go: "Go on?" }) }),
  }),
});

/** Watches workers; the ends of their turns are turns of its own. */
const boss = defineAgent({
  name: "boss",
  purpose: "Watches workers.",
  memorySchema: z.array(z.custom<Ended>()).default([]),
  operations: (own) => ({
    watch: own({
      input: z.object({ key: z.string(), failed: z.boolean().optional() }),
      run: ({ key, failed = false }, turn) => turn.watch(turn.actor(worker, key), { failed }),
    }),
    unwatch: own({
      input: z.object({ key: z.string() }),
      run: ({ key }, turn) => turn.unwatch(turn.actor(worker, key)),
    }),
    ended: own({
      input: ended,
      run(end, turn) {
        turn.memory.set([...turn.memory.get(), end]);
      },
    }),
    seen: own({ input: z.object({}), run: (_input, turn) => turn.memory.get() }),
  }),
});

/** Waits for the end of a worker's turn in one turn of its own. */
const waiter = defineAgent({
  name: "waiter",
  purpose: "Waits for a worker.",
  messages: { ended },
  operations: (own) => ({
    await_end: own({
      input: z.object({ key: z.string() }),
      async run({ key }, turn) {
        await turn.watch(turn.actor(worker, key));
        await turn.tell(turn.actor(worker, key), "work", { fails: true });
        return (await turn.receive("ended"))?.error?.message ?? "none";
      },
    }),
  }),
});

const deaf = defineAgent({
  name: "deaf",
  purpose: "Declares nothing to be told.",
  operations: (own) => ({
    watch: own({
      input: z.object({}),
      run: (_input, turn) => turn.watch(turn.actor(worker, "w")),
    }),
  }),
});

const agents = [worker, boss, waiter, deaf];

async function seen(host: TestHost): Promise<unknown> {
  const id = `seen-${String(host.commits)}`;
  await send(host, "boss", "seen", "b", {}, id);
  return ((await host.events(id)).at(-1) as Event & { readonly output: unknown }).output;
}

describe("a watched actor", () => {
  test("tells the end of each turn, with its error", async () => {
    const host = new TestHost({ agents });
    await send(host, "boss", "watch", "b", { key: "w" });
    await send(host, "worker", "work", "w", {}, "good");
    await send(host, "worker", "work", "w", { fails: true }, "bad");
    await send(host, "worker", "hold", "w", {}, "held");
    await host.ask("worker", { type: "CancelRequest", request_id: "held" });
    const address = { agent: "worker", key: "w", run_id: await host.runtime.find("worker", "w") };
    expect(await seen(host)).toEqual([
      { ...address, request_id: "good", finish_reason: "success" },
      {
        ...address,
        request_id: "bad",
        finish_reason: "error",
        error: { code: "agent_error", message: "the tool broke" },
      },
      { ...address, request_id: "held", finish_reason: "canceled" },
    ]);
    await host.environment.advance(1_000);
    expect(await host.log.outbox({})).toEqual([]);
  });

  test("tells only failures if that is asked, and nothing after unwatch", async () => {
    const host = new TestHost({ agents });
    await send(host, "boss", "watch", "b", { key: "w", failed: true });
    await send(host, "worker", "work", "w");
    await send(host, "worker", "work", "w", { fails: true }, "bad");
    await send(host, "boss", "unwatch", "b", { key: "w" });
    await send(host, "worker", "work", "w", { fails: true }, "later");
    expect(await seen(host)).toMatchObject([{ request_id: "bad" }]);
  });

  test("tells after restarts, and when both were renewed", async () => {
    const host = new TestHost({ agents, limits: { keyedRunEvents: 4 } });
    await send(host, "boss", "watch", "b", { key: "w" });
    const before = [await host.runtime.find("worker", "w"), await host.runtime.find("boss", "b")];
    for (let n = 1; n <= 8; n += 1) {
      await host.restart();
      await send(host, "worker", "work", "w", {}, `work-${n}`);
      await host.environment.advance(1_000);
    }
    expect(before).not.toContain(await host.runtime.find("worker", "w"));
    expect(before).not.toContain(await host.runtime.find("boss", "b"));
    expect(await seen(host)).toMatchObject(
      [1, 2, 3, 4, 5, 6, 7, 8].map((n) => ({ request_id: `work-${n}` })),
    );
  });

  test("is watched as a message, in the turn that goes on", async () => {
    const host = new TestHost({ agents });
    await send(host, "waiter", "await_end", "x", { key: "w" }, "waited");
    expect((await host.events("waited")).at(-1)).toMatchObject({ output: "the tool broke" });
  });

  test("is not watched by an agent that declares nothing to be told", async () => {
    const host = new TestHost({ agents });
    await send(host, "deaf", "watch", "d", {}, "deaf");
    expect((await host.events("deaf")).at(-1)).toMatchObject({
      finish_reason: "error",
      error: { message: expect.stringContaining("no operation or message ended") as string },
    });
  });

  test("forgets a watcher without a key that was removed", async () => {
    const host = new TestHost({ agents });
    const { runId } = await host.ask("boss", {
      type: "OperationRequest",
      operation: "watch",
      input: { key: "w" },
    });
    await host.runtime.removeRun(runId ?? "");
    await send(host, "worker", "work", "w");
    await send(host, "worker", "work", "w");
    await host.environment.advance(1_000);
    expect(await host.log.outbox({})).toEqual([]);
    expect(await host.log.outbox({ kind: "dead" })).toEqual([]);
  });
});

const faults = Array.from({ length: 18 }, (_, at) => [
  { commit: at + 1, written: false },
  { commit: at + 1, written: true },
]).flat();

test.each(faults)(
  "a crash at commit $commit (written: $written) tells the end of each watched turn once",
  async ({ commit, written }) => {
    const host = new TestHost({ agents, commitFaults: [{ commit, kind: "crash", written }] });
    const steps: (() => Promise<unknown>)[] = [
      () => send(host, "boss", "watch", "b", { key: "w" }, "watch"),
      () => send(host, "worker", "work", "w", {}, "one"),
      () => send(host, "worker", "work", "w", { fails: true }, "two"),
      () => send(host, "worker", "work", "w", {}, "three"),
    ];
    await stepOverDeaths(host, steps);
    const ends = (await seen(host)) as readonly Ended[];
    expect(ends.map(({ request_id: id }) => id)).toEqual(["one", "two", "three"]);
  },
);
