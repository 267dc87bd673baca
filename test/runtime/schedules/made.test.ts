import { AgentError, defineAgent } from "troupe";
import type {
  Agent,
  Authorize,
  Operation,
  Principal,
  Runtime,
  ScheduleRequest,
  ScheduleSummary,
} from "troupe";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost } from "../test-host.ts";
import { scheduled } from "./agents.ts";

const MINUTE_MS = 60_000;

/** Notes what it is told, and makes schedules for itself. */
const diary = defineAgent({
  name: "diary",
  purpose: "Notes what it is told.",
  expireMs: 15 * MINUTE_MS,
  memorySchema: z.array(z.string()).default([]),
  messages: { hint: z.string() },
  operations: (own) => ({
    note: own({
      input: z.object({ text: z.string() }),
      run: ({ text }, turn) => turn.memory.set([...turn.memory.get(), text]),
    }),
    ask: own({ input: z.object({}), run: (_, turn) => turn.waitForInput({ go: "Go on?" }) }),
    beat: own({
      input: z.object({ everyMs: z.number().optional(), cron: z.string().optional(), text: z.string() }),
      async run({ text, ...when }, turn) {
        const self = turn.actor(theDiary(), turn.self);
        const time = when.cron === undefined ? { everyMs: when.everyMs ?? 0 } : { cron: when.cron };
        return (await turn.schedule(self, "note", { text }, { id: "beat", ...time })).id;
      },
    }),
    stop: own({ input: z.object({}), run: (_, turn) => turn.unschedule("beat") }),
    list: own({ input: z.object({}), run: async (_, turn) => [...(await turn.schedules())] }),
    notes: own({ read: true, input: z.object({}), run: (_, turn) => turn.memory.get() }),
  }),
});

/** The compiler finds no type for an agent that its own code names. */
function theDiary(): Agent<{ readonly note: Operation<{ readonly text: string }> }> {
  return diary;
}

const notesOf = (runtime: Runtime, key = "a"): Promise<readonly string[]> =>
  runtime.actor(diary, key).ask("notes", {});

async function startHost(limits: object = {}): Promise<TestHost> {
  const host = new TestHost({ agents: [diary, scheduled()], limits });
  await host.runtime.ready();
  await host.environment.idle();
  return host;
}

async function ask(host: TestHost, operation: string, input: object): Promise<unknown> {
  const asked = host.runtime.actor(diary, "a").ask(operation as "stop", input as Record<never, never>);
  asked.catch(() => {});
  await host.environment.idle();
  return asked;
}

function make(host: TestHost, given: Partial<ScheduleRequest> = {}): Promise<ScheduleSummary> {
  const every = given.cron === undefined && given.at === undefined && given.after_ms === undefined;
  return host.runtime.schedules.make("diary", {
    ...(given.run_id === undefined && { key: "a" }),
    operation: "note",
    input: { text: "x" },
    ...(every && { every_ms: MINUTE_MS }),
    ...given,
  });
}

async function refusalOf(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => "nothing was refused",
    (thrown: unknown) => thrown,
  );
  return error instanceof AgentError ? `${error.code}: ${error.message}` : String(error);
}

describe("an actor", () => {
  test("is told something again and again by its own schedule, over restarts, until it removes it", async () => {
    const host = await startHost({ idleRuns: 0 });
    expect(await ask(host, "beat", { everyMs: MINUTE_MS, text: "tick" })).toBe("beat");
    await host.environment.advance(2.5 * MINUTE_MS);
    expect(await notesOf(host.runtime)).toEqual(["tick", "tick"]);
    // Of the times that pass while no server runs, the newest is made up.
    host.crash();
    await host.environment.advance(3 * MINUTE_MS);
    await host.restart();
    expect(await notesOf(host.runtime)).toEqual(["tick", "tick", "tick"]);
    await host.environment.advance(MINUTE_MS);
    expect(await notesOf(host.runtime)).toHaveLength(4);
    await ask(host, "stop", {});
    await host.environment.advance(3 * MINUTE_MS);
    expect(await notesOf(host.runtime)).toHaveLength(4);
    expect(host.faults).toEqual([]);
  });

  test("replaces a schedule by its id, and lists its own", async () => {
    const host = await startHost();
    await ask(host, "beat", { everyMs: MINUTE_MS, text: "old" });
    await ask(host, "beat", { cron: "*/2 * * * *", text: "new" });
    const listed = (await ask(host, "list", {})) as readonly ScheduleSummary[];
    expect(listed).toEqual([
      expect.objectContaining({ id: "beat", cron: "*/2 * * * *", timezone: "UTC", input: { text: "new" } }),
    ]);
    expect(listed[0]?.sender).toMatchObject({ agent: "diary", key: "a" });
    await host.environment.advance(2 * MINUTE_MS);
    expect(await notesOf(host.runtime)).toEqual(["new"]);
  });

  test("keeps its schedules when it is renewed, and neither retention nor its expiry removes it", async () => {
    const limits = { keyedRunEvents: 4 };
    const host = new TestHost({ agents: [diary], limits, retainMs: MINUTE_MS / 2 });
    await host.runtime.ready();
    await ask(host, "beat", { everyMs: MINUTE_MS, text: "tick" });
    await host.runtime.actor(diary, "b").tell("note", { text: "left" });
    const first = (await host.runtime.find("diary", "a")) ?? "";
    await host.environment.advance(20.5 * MINUTE_MS);
    expect(await host.runtime.find("diary", "a")).not.toBe(first);
    expect(await notesOf(host.runtime)).toHaveLength(20);
    await expect(host.runtime.run(first)).rejects.toMatchObject({ code: "gone" });
    // Without a schedule, it has expired.
    expect(await host.runtime.find("diary", "b")).toBeUndefined();
    const { schedules } = await host.runtime.schedules.list({ limit: 10, agent: "diary" });
    expect(schedules).toEqual([
      expect.objectContaining({ run_id: await host.runtime.find("diary", "a"), key: "a" }),
    ]);
  });

  test("makes a schedule once, and each of its times is one turn, whichever commit the process dies at", async () => {
    for (let after = 0; after < 14; after += 1) {
      for (const written of [false, true]) {
        const host = await startHost();
        host.planFault({ kind: "crash", written, after });
        const request = {
          type: "OperationRequest",
          operation: "beat",
          input: { everyMs: MINUTE_MS, text: "tick" },
          key: "a",
          request_id: "beat",
        } as const;
        host.runtime.process("diary", request).catch(() => {});
        await host.environment.advance(0.5 * MINUTE_MS);
        if (host.crashed) await host.restart();
        await host.ask("diary", request);
        for (let beats = 0; beats < 3; beats += 1) {
          await host.environment.advance(MINUTE_MS);
          if (host.crashed) await host.restart();
        }
        const runId = (await host.runtime.find("diary", "a")) ?? "";
        const started = ofType(await host.events(runId), "RequestStarted");
        const times = started.flatMap(({ operation, request_id: id }) => (operation === "note" ? [id] : []));
        expect([after, written, times.length, new Set(times).size]).toEqual([after, written, 3, 3]);
      }
    }
  });
});

describe("a client", () => {
  test("makes, pauses, resumes, runs and removes a schedule of an actor that there was not", async () => {
    const host = await startHost();
    const made = await make(host, { id: "daily", input: { text: "hello" } });
    expect(made).toMatchObject({
      id: "daily",
      agent: "diary",
      key: "a",
      every_ms: MINUTE_MS,
      defined: false,
    });
    expect(Date.parse(made.next_at ?? "")).toBe(host.environment.now() + MINUTE_MS);
    const { schedules } = host.runtime;
    expect((await host.runtime.run(made.run_id)).initial_input).toEqual({ text: "hello" });
    const { requestId } = await schedules.run(made.run_id, "daily");
    await host.environment.idle();
    expect((await host.runtime.status(requestId)).finish_reason).toBe("success");
    await host.environment.advance(MINUTE_MS);
    expect(await notesOf(host.runtime)).toHaveLength(2);
    const paused = await schedules.pause(made.run_id, "daily");
    expect(paused).toMatchObject({ paused: true, last: { at: made.next_at ?? "" } });
    expect(paused.next_at).toBeUndefined();
    await host.environment.advance(5 * MINUTE_MS);
    expect(await notesOf(host.runtime)).toHaveLength(2);
    // Nothing of the pause is made up for.
    const { next_at: next } = await schedules.resume(made.run_id, "daily");
    expect(Date.parse(next ?? "")).toBe(host.environment.now() + MINUTE_MS);
    await host.environment.advance(MINUTE_MS);
    expect(await notesOf(host.runtime)).toHaveLength(3);
    await schedules.remove(made.run_id, "daily");
    await schedules.remove(made.run_id, "daily");
    expect((await schedules.list({ limit: 10, agent: "diary" })).schedules).toEqual([]);
    expect(await refusalOf(schedules.pause(made.run_id, "daily"))).toBe(
      `not_found: run ${made.run_id} has no schedule daily`,
    );
  });

  test("has a message or a request sent once; a time that is open is left out", async () => {
    const host = await startHost();
    const at = new Date(host.environment.now() + MINUTE_MS).toISOString();
    await make(host, { at, operation: "hint", input: "look" });
    await make(host, { after_ms: MINUTE_MS, input: { text: "late" } });
    await make(host, { key: "waits", operation: "ask", input: {} });
    await host.environment.advance(3 * MINUTE_MS);
    expect(await notesOf(host.runtime)).toEqual(["late"]);
    const runId = (await host.runtime.find("diary", "a")) ?? "";
    expect(ofType(await host.events(runId), "MessageReceived").map(({ name, body }) => [name, body])).toEqual(
      [["hint", "look"]],
    );
    const waiting = (await host.runtime.find("diary", "waits")) ?? "";
    const ends = ofType(await host.events(waiting), "RequestCompleted");
    expect(ends.map(({ finish_reason: reason }) => reason)).toEqual(["canceled", "canceled"]);
  });

  test.each<[Partial<ScheduleRequest>, string]>([
    [{ operation: "paint" }, "not_found: agent diary has no operation or message paint"],
    [{ operation: "notes" }, "invalid_request: operation notes of agent diary only reads"],
    [{ input: { text: 5 } }, "unprocessable: the input of diary.note does not fit"],
    [{ every_ms: 5 }, "is due every 5 ms; use 100 ms to 100 years"],
    [{ every_ms: 1e17 }, "is due every 100000000000000000 ms; use 100 ms to 100 years"],
    [{ cron: "* * * * * *" }, "which does not have five fields"],
    [{ cron: "0 0 30 2 *" }, "never runs"],
    [{ every_ms: MINUTE_MS, after_ms: 5 }, "invalid_request: a schedule needs one time"],
    [{ after_ms: 8.6e15 }, "use milliseconds since 1970, up to those of the year 9999"],
    [{ at: "soon" }, "invalid_request: a schedule needs a time"],
    [{ id: "a b" }, 'invalid_request: "a b" is no id of a schedule'],
    [{ run_id: "none" }, "not_found: there is no run or request none"],
  ])("gets a clear refusal of %j, and no actor is made for it", async (given, refusal) => {
    const host = await startHost();
    expect(await refusalOf(make(host, given))).toContain(refusal);
    expect(await host.runtime.find("diary", "a")).toBeUndefined();
  });

  test("cannot change a schedule of a definition, but pause it", async () => {
    const host = await startHost();
    const [defined] = (await host.runtime.schedules.list({ limit: 10, agent: "reporter" })).schedules;
    expect(defined).toMatchObject({ id: "report", key: "schedule-report", cron: "0 * * * *", defined: true });
    const { run_id: runId = "" } = defined ?? {};
    const removed = host.runtime.schedules.remove(runId, "report");
    expect(await refusalOf(removed)).toContain("schedule report is one of the definition of its agent");
    await host.runtime.schedules.pause(runId, "report");
    await host.restart();
    await host.environment.advance(3 * 60 * MINUTE_MS);
    expect(ofType(await host.events(runId), "RequestStarted")).toEqual([]);
    await host.runtime.schedules.resume(runId, "report");
    await host.environment.advance(60 * MINUTE_MS);
    expect(ofType(await host.events(runId), "RequestStarted")).toHaveLength(1);
  });

  test("learns why a time was left out, when the agent takes its request no more", async () => {
    const host = await startHost();
    const made = await make(host, { id: "daily" });
    const changed = defineAgent({ name: "diary", purpose: "", operations: {}, chat: () => "" });
    await host.restart([changed, scheduled()]);
    await host.environment.advance(MINUTE_MS);
    const [left] = (await host.runtime.schedules.list({ limit: 10, agent: "diary" })).schedules;
    expect(left?.last).toMatchObject({ at: made.next_at, error: { code: "not_found" } });
    expect(left?.next_at).toBeDefined();
  });
});

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"] };
const BOB: Principal = { id: "bob", owner: "bolt", roles: ["user"] };
const ROOT: Principal = { id: "root", owner: "default", roles: ["admin"] };

describe("of several owners", () => {
  test("each sees and changes its own, and an erasure takes them", async () => {
    const host = await startHost();
    const [ann, bob, root] = [ANN, BOB, ROOT].map((who) => host.runtime.as(who)) as [
      Runtime,
      Runtime,
      Runtime,
    ];
    const given = { key: "a", id: "daily", operation: "note", input: { text: "x" }, every_ms: MINUTE_MS };
    const of = await ann.schedules.make("diary", given);
    await bob.schedules.make("diary", given);
    expect(of).toMatchObject({ owner: "acme", by: { id: "ann" } });
    expect((await ann.schedules.list({ limit: 10 })).schedules).toEqual([of]);
    expect((await bob.schedules.list({ limit: 10, runId: of.run_id })).schedules).toEqual([]);
    expect((await root.schedules.list({ limit: 10, agent: "diary" })).schedules).toHaveLength(2);
    expect((await root.schedules.list({ limit: 10, owner: "bolt" })).schedules).toHaveLength(1);
    expect(await refusalOf(bob.schedules.pause(of.run_id, "daily"))).toContain("not_found");
    expect(await refusalOf(bob.schedules.run(of.run_id, "daily"))).toContain("not_found");
    await host.environment.advance(MINUTE_MS);
    expect(await notesOf(ann)).toEqual(["x"]);
    await ann.schedules.pause(of.run_id, "daily");
    const trail = (await root.audit.list({ limit: 10, action: "schedule", owner: "acme" })).entries;
    expect(trail.map(({ by, detail }) => [by.id, detail])).toEqual([
      ["ann", "pause daily"],
      ["ann", "set daily"],
    ]);
    const erased = host.runtime.erase({ owner: "acme" });
    await host.environment.idle();
    await erased;
    expect((await host.log.schedules({ owner: "acme", limit: 10 })).schedules).toEqual([]);
    expect((await host.log.schedules({ owner: "bolt", limit: 10 })).schedules).toHaveLength(1);
  });

  test("rules of the application and the limits of an actor and of an owner hold", async () => {
    const authorize: Authorize = (_, action) => action !== "process";
    const ruled = new TestHost({ agents: [diary], authorize });
    const given = { key: "a", operation: "note", input: { text: "x" }, every_ms: MINUTE_MS };
    expect(await refusalOf(ruled.runtime.as(ANN).schedules.make("diary", given))).toContain(
      "forbidden: ann may not process",
    );
    const host = new TestHost({
      agents: [diary],
      limits: { schedules: 2 },
      owners: (owner) => (owner === "bolt" ? { schedules: 1 } : {}),
    });
    const [ann, bob] = [host.runtime.as(ANN), host.runtime.as(BOB)];
    await ann.schedules.make("diary", { ...given, id: "one" });
    const { run_id: runId } = await ann.schedules.make("diary", { ...given, id: "two" });
    await ann.schedules.make("diary", { ...given, id: "two", every_ms: 2 * MINUTE_MS });
    expect(await refusalOf(ann.schedules.make("diary", given))).toBe(
      `conflict: run ${runId} has 2 schedules, and can have no more`,
    );
    await bob.schedules.make("diary", given);
    expect(await refusalOf(bob.schedules.make("diary", { ...given, key: "b" }))).toBe(
      "conflict: owner bolt has 1 schedule, and can have no more",
    );
    expect(await bob.find("diary", "b")).toBeUndefined();
  });
});
