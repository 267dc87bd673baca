import { defineAgent, operation } from "troupe";
import type { Runtime } from "troupe";
import type { Event, Request } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { TestHost } from "../test-host.ts";
import { sampled } from "../../machine/long.ts";

const counter = defineAgent({
  name: "counter",
  purpose: "Counts its turns, and says how it is configured.",
  messages: { note: z.string() },
  operations: {
    count: operation({
      input: z.object({}),
      run(_input, turn) {
        const count = Number(turn.memory.get() ?? 0) + 1;
        turn.memory.set(count);
        return { count, tone: turn.config["tone"] ?? null };
      },
    }),
    ask: operation({
      input: z.object({}),
      run: (_input, turn) => turn.waitForInput({ name: "Your name?" }),
    }),
    notes: operation({ input: z.object({}), run: (_input, turn) => turn.received("note") }),
  },
});

const user = defineAgent({
  name: "user",
  purpose: "Has a counter count.",
  operations: {
    use: operation({
      input: z.object({ times: z.number() }),
      async run({ times }, turn): Promise<unknown> {
        const counts: number[] = [];
        for (let time = 0; time < times; time += 1) {
          const { count } = await turn.ask(turn.actor(counter, "desk"), "count", {});
          counts.push(count);
        }
        return counts;
      },
    }),
  },
});

const agents = [counter, user];
/** A turn that counts has two events, so each run has two turns. */
const limits = { keyedRunEvents: 3 };

const run = (name: string, more: object = { key: "desk" }): Request => ({
  type: "OperationRequest",
  operation: name,
  input: {},
  ...more,
});

/** Lets time pass until nothing is left to send again. */
async function settle(host: TestHost): Promise<void> {
  for (let round = 0; round < 20; round += 1) await host.environment.advance(1_000);
}

async function count(runtime: Runtime, key = "desk"): Promise<unknown> {
  return (await runtime.ask(counter, "count", {}, { key })).count;
}

/** All runs of an actor, the newest first, by what they say of each other. */
async function chain(host: TestHost, key = "desk"): Promise<readonly (readonly Event[])[]> {
  const runs: (readonly Event[])[] = [];
  for (let runId = await host.log.find({ agent: "counter", name: key }); runId !== undefined;) {
    const events = await host.events(runId);
    runs.push(events);
    const [first] = events;
    runId = first?.type === "RunCreated" ? first.continues : undefined;
  }
  return runs;
}

describe("an actor above its limit of events", () => {
  test("continues in a new run with its key, memory and configuration", async () => {
    const host = new TestHost({ agents, limits });
    const { runtime } = host;
    const first = await host.ask("counter", run("count", { key: "desk", request_metadata: { who: "ada" } }));
    await host.ask("counter", { type: "ConfigureRequest", key: "desk", args: { tone: "loud" } });
    await host.ask("counter", run("count"));
    expect(await runtime.find("counter", "desk")).toBe(first.runId);

    expect(await runtime.ask(counter, "count", {}, { key: "desk" })).toEqual({ count: 3, tone: "loud" });
    const [next = [], old = []] = await chain(host);
    const to = next[0]?.run_id;
    expect(to).not.toBe(first.runId);
    expect(old.at(-1)).toMatchObject({ type: "Renewed", to, key: "desk", request_id: null, id: 5 });
    expect(next[0]).toMatchObject({
      type: "RunCreated",
      key: "desk",
      continues: first.runId,
      input: {},
      metadata: { who: "ada" },
    });
    expect(await runtime.run(first.runId ?? "")).not.toHaveProperty("key");
    expect(await runtime.run(to ?? "")).toMatchObject({ key: "desk", agent: "counter", status: "idle" });

    await host.restart();
    expect(await host.runtime.ask(counter, "count", {}, { key: "desk" })).toMatchObject({ count: 4 });
    expect(await count(host.runtime)).toBe(5);
    expect(await chain(host)).toHaveLength(3);
  });

  test("is refused by the id of its old run, which stays readable, and by nothing else", async () => {
    const host = new TestHost({ agents, limits });
    const sent = { ...run("count"), request_id: "first" };
    const { runId } = await host.ask("counter", sent);
    const note = { type: "Message", name: "note", body: "hi", key: "desk", request_id: "noted" } as const;
    await host.ask("counter", note);
    await host.ask("counter", run("notes"));
    await host.ask("counter", run("count"));
    const to = await host.runtime.find("counter", "desk");
    expect(to).not.toBe(runId);

    const byId = { run_id: runId ?? "" };
    const refused: readonly Request[] = [
      run("count", byId),
      run("count", { ...byId, request_id: "other" }),
      { type: "Message", name: "note", body: "hi", ...byId },
      { type: "ConfigureRequest", args: { tone: "low" }, ...byId },
      { type: "ResumeWithInput", request_keys: { name: "Ada" }, ...byId },
    ];
    for (const request of refused)
      await expect(host.ask("counter", request)).rejects.toMatchObject({
        code: "conflict",
        message: `run ${runId} has ended: its actor continues in run ${to}`,
        details: { facts: { renewed_to: to } },
      });
    async function* body(): AsyncGenerator<Uint8Array, void> {
      yield new Uint8Array([1]);
    }
    const file = { name: "a.txt", mimeType: "text/plain", body: body(), limitBytes: 10, runId: runId ?? "" };
    await expect(host.runtime.upload(file)).rejects.toMatchObject({ details: { facts: { renewed_to: to } } });
    await expect(host.ask("counter", run("count", { ...byId, key: "desk" }))).rejects.toMatchObject({
      code: "conflict",
    });

    // What the old run has accepted is answered as before.
    expect(await host.ask("counter", sent)).toMatchObject({ runId, replayed: true });
    expect(await host.ask("counter", note)).toMatchObject({ runId, replayed: true });
    await expect(host.ask("counter", { ...note, key: "other" })).rejects.toMatchObject({ code: "conflict" });
    expect((await host.events(runId ?? "")).at(-1)).toMatchObject({ type: "Renewed", to });
    expect(await host.runtime.fork(runId ?? "", { after: 2 })).toMatch(/^run_/);
    expect(await host.runtime.status("first")).toMatchObject({ status: "completed", run_id: runId });
  });

  test("refuses a file that was being attached when the run was renewed", async () => {
    const host = new TestHost({ agents, limits });
    const { attach } = host.artifacts;
    const { promise: attaching, resolve: proceed } = Promise.withResolvers<void>();
    let begun = false;
    Object.assign(host.artifacts, {
      attach: (...given: Parameters<typeof attach>) => {
        begun = true;
        return attaching.then(() => attach(...given));
      },
    });
    await host.restart();
    const { runId } = await host.ask("counter", run("count"));
    await host.ask("counter", run("count"));
    async function* body(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode("a");
    }
    const file = { name: "a.txt", mimeType: "text/plain", body: body(), limitBytes: 10, runId: runId ?? "" };
    const sent = host.runtime.upload(file).catch((error: unknown) => error);
    await host.environment.idle();
    expect(begun).toBe(true);
    const { runId: to } = await host.ask("counter", run("count"));
    expect(to).not.toBe(runId);
    proceed();
    await host.environment.idle();
    expect(await sent).toMatchObject({ code: "conflict", details: { facts: { renewed_to: to } } });
    expect((await host.events(runId ?? "")).at(-1)).toMatchObject({ type: "Renewed", to });
  });

  test("keeps its run while something in it is open, and for a request by its id", async () => {
    const host = new TestHost({ agents, limits });
    const { runId } = await host.ask("counter", run("count"));
    await host.ask("counter", run("count"));
    // By its id.
    expect(await host.ask("counter", run("ask", { run_id: runId }))).toMatchObject({ runId });
    // An open turn.
    expect(await host.ask("counter", run("count", { key: "desk", on_busy: "enqueue" }))).toMatchObject({
      runId,
    });
    await host.ask("counter", { type: "ResumeWithInput", key: "desk", request_keys: { name: "Ada" } });
    expect(await host.runtime.find("counter", "desk")).toBe(runId);
    expect(await count(host.runtime)).toBe(4);
    expect(await host.runtime.find("counter", "desk")).not.toBe(runId);
  });

  test("takes its unread messages along, in their order and with their senders' ids", async () => {
    const host = new TestHost({ agents, limits });
    const { runId } = await host.ask("counter", run("count"));
    await host.ask("counter", run("count"));
    const note = { type: "Message", name: "note", run_id: runId ?? "" } as const;
    for (const body of ["one", "two", "three"])
      await host.ask("counter", { ...note, body, request_id: `note-${body}` });
    await host.ask("counter", run("count"));
    const [next = []] = await chain(host);
    expect(next.slice(0, 4)).toMatchObject([
      { type: "RunCreated", continues: runId },
      { type: "MessageReceived", message_id: "note-one", name: "note", body: "one", request_id: null },
      { type: "MessageReceived", message_id: "note-two", body: "two" },
      { type: "MessageReceived", message_id: "note-three", body: "three" },
    ]);
    await host.restart();
    const { requestId } = await host.ask("counter", run("notes"));
    expect((await host.events(requestId)).at(-1)).toMatchObject({ output: ["one", "two", "three"] });
    expect(await host.ask("counter", { ...note, body: "one", request_id: "note-one" })).toMatchObject({
      runId,
      replayed: true,
    });
  });

  test("takes a message into its new run", async () => {
    const host = new TestHost({ agents, limits });
    const { runId } = await host.ask("counter", run("count"));
    await host.ask("counter", run("count"));
    const note = await host.ask("counter", { type: "Message", name: "note", body: "hi", key: "desk" });
    expect(note.runId).not.toBe(runId);
    const { requestId } = await host.ask("counter", run("notes"));
    expect((await host.events(requestId)).at(-1)).toMatchObject({ output: ["hi"] });
  });

  test("is renewed once by many requests at the same time", async () => {
    const host = new TestHost({ agents, limits: { ...limits, queuedRequests: 100 } });
    await host.ask("counter", run("count"));
    await host.ask("counter", run("count"));
    const receipts = await Promise.all(
      Array.from({ length: 20 }, () => host.runtime.process("counter", run("count"))),
    );
    await host.environment.idle();
    expect(new Set(receipts.map(({ runId }) => runId)).size).toBe(1);
    expect(await count(host.runtime)).toBe(23);
    expect(await chain(host)).toHaveLength(3);
  });

  test(
    "is renewed while its clients never pause, and each of their requests is one turn",
    { tags: "long" },
    async () => {
      const busy = { keyedRunEvents: 300, runEvents: 400, queuedRequests: 32 };
      const host = new TestHost({ agents, limits: busy });
      let left = 1_000;
      const counts: number[] = [];
      async function client(): Promise<void> {
        for (; left > 0;) {
          left -= 1;
          counts.push((await count(host.runtime)) as number);
        }
      }
      const clients = Promise.all(Array.from({ length: 32 }, client));
      await host.environment.idle();
      await clients;
      expect(counts.toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 1_000 }, (_, index) => index + 1),
      );
      const runs = await chain(host);
      expect(runs.length).toBeGreaterThan(4);
      for (const events of runs) expect(events.length).toBeLessThanOrEqual(400);
    },
  );

  test("waits for no turn that waits itself", async () => {
    const host = new TestHost({ agents, limits });
    const { runId } = await host.ask("counter", run("count"));
    await host.ask("counter", run("ask", { run_id: runId }));
    // The turn that waits is open, and the request is behind it.
    const behind = await host.ask("counter", run("count", { key: "desk", on_busy: "enqueue" }));
    expect(behind).toMatchObject({ runId });
    expect((await host.log.lookup(behind.requestId))?.phase).toBe("queued");
  });

  test("answers the asks of others, whose replies do not get lost", async () => {
    const host = new TestHost({ agents, limits });
    const asked = await host.ask("user", run("use", { input: { times: 9 } }));
    await settle(host);
    expect((await host.events(asked.requestId)).at(-1)).toMatchObject({
      type: "RequestCompleted",
      output: [1, 2, 3, 4, 5, 6, 7, 8, 9],
    });
    expect((await chain(host)).length).toBeGreaterThan(3);
    expect(await host.log.outbox({})).toEqual([]);
  });

  test("is a new actor after the removal of its newest run", async () => {
    const host = new TestHost({ agents, limits });
    const { runId } = await host.ask("counter", run("count"));
    await host.ask("counter", run("count"));
    await host.ask("counter", run("count"));
    await host.runtime.removeRun(runId ?? "");
    expect(await count(host.runtime)).toBe(4);
    await host.runtime.removeRun((await host.runtime.find("counter", "desk")) ?? "");
    expect(await count(host.runtime)).toBe(1);
  });
});

const faults = Array.from({ length: 14 }, (_, index) => index + 1).flatMap((commit) =>
  [true, false].flatMap((written) =>
    (["crash", "failure"] as const).map((kind) => ({ commit, written, kind })),
  ),
);

test.each(sampled(faults, 7))(
  "a $kind at commit $commit (written: $written) renews a run once, and loses no turn",
  async ({ commit, written, kind }) => {
    const host = new TestHost({ agents, limits, commitFaults: [{ commit, kind, written }] });
    for (let turn = 1; turn <= 5; turn += 1) {
      const request = { ...run("count"), request_id: `count-${turn}` };
      for (let attempt = 1; attempt <= 5; attempt += 1) {
        try {
          const receipt = host.ask("counter", request);
          receipt.catch(() => {});
          await host.environment.idle();
          if (host.crashed) await host.restart();
          else await receipt;
          await settle(host);
          if ((await host.log.lookup(request.request_id))?.phase === "completed") break;
        } catch {
          host.repair();
          await settle(host);
        }
      }
    }
    const runs = (await chain(host)).toReversed();
    expect(runs.map((events) => events.map(({ type }) => type))).toEqual([
      ["RequestStarted", "RequestCompleted", "RequestStarted", "RequestCompleted", "Renewed"],
      ["RunCreated", "RequestStarted", "RequestCompleted", "RequestStarted", "RequestCompleted", "Renewed"],
      ["RunCreated", "RequestStarted", "RequestCompleted"],
    ]);
    const outputs = runs.flat().flatMap((event) => (event.type === "RequestCompleted" ? [event.output] : []));
    expect(outputs).toMatchObject([1, 2, 3, 4, 5].map((n) => ({ count: n })));
    expect((await host.log.list({ limit: 10 })).runs).toHaveLength(3);
    expect(await host.log.open()).toEqual([]);
  },
);
