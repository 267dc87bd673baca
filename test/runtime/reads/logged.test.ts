import { defineAgent, operation } from "troupe";
import type { Event, RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { asked, TestHost } from "../test-host.ts";

const nothing = z.object({});
const key = "one";

/** A file that people read, and that remembers who has looked into it. */
const file = defineAgent({
  name: "file",
  purpose: "Keeps what is known of a person.",
  memorySchema: z.array(z.string()).default([]),
  operations: (own) => ({
    add: own({
      input: z.object({ line: z.string() }),
      run: ({ line }, turn) => turn.memory.set([...turn.memory.get(), line]),
    }),
    confirm: own({ input: nothing, run: (_input, turn) => turn.waitForInput({ ok: "Is it right?" }) }),
    look: own({
      read: true,
      logged: true,
      input: z.object({ at: z.number() }),
      run({ at }, turn) {
        const line = turn.memory.get()[at];
        if (line === undefined) throw new Error(`there is no line ${at}`);
        return line;
      },
    }),
    glance: own({ read: true, input: nothing, run: (_input, turn) => turn.memory.get().length }),
  }),
});

const reader = defineAgent({
  name: "reader",
  purpose: "Looks into the file.",
  async chat(_input, turn) {
    const first = await turn.ask(turn.actor(file, key), "look", { at: 0 });
    const none = await turn.ask(turn.actor(file, key), "look", { at: 9 }).catch((error: unknown) => error);
    return `${first}, ${(none as Error).message}`;
  },
});

const ask = (name: string, input: object = {}, request_id?: RequestId) =>
  ({
    type: "OperationRequest",
    operation: name,
    input: input as never,
    key,
    ...(request_id && { request_id }),
  }) as const;

async function fileEvents(host: TestHost): Promise<readonly Event[]> {
  const runId = await host.runtime.find("file", key);
  return runId === undefined ? [] : host.events(runId);
}

/** The events of the looks in the log, short. */
async function looksIn(host: TestHost): Promise<readonly unknown[]> {
  const of = new Set<unknown>();
  const looks: unknown[] = [];
  for (const event of await fileEvents(host)) {
    if (event.type === "RequestStarted" && event.operation === "look") of.add(event.request_id);
    if (!of.has(event.request_id)) continue;
    if (event.type === "RequestStarted") looks.push(event.input);
    else looks.push(event.type === "RequestCompleted" ? (event.output ?? event.error) : event.type);
  }
  return looks;
}

test("a logged read is a request with its answer in one commit, beside a turn that waits and goes on", async () => {
  const host = new TestHost({ agents: [file] });
  await host.ask("file", ask("add", { line: "a" }));
  await host.ask("file", ask("confirm", {}, "confirm"));
  const { commits } = host;
  const receipt = await host.ask("file", ask("look", { at: 0 }, "look"));
  expect(host.commits - commits).toBe(1);
  expect(receipt).toMatchObject({ kind: "turn", replayed: false, requestId: "look" });
  expect(await host.runtime.status("look")).toMatchObject({ status: "completed", output: "a" });
  expect(await host.runtime.status("confirm")).toMatchObject({ status: "waiting" });
  expect(await looksIn(host)).toEqual([{ at: 0 }, "a"]);

  // The turn that it stands beside is loaded again, and ends.
  await host.restart();
  await host.ask("file", { type: "ResumeWithInput", request_id: "confirm", request_keys: { ok: true } });
  expect(await host.runtime.status("confirm")).toMatchObject({ status: "completed", output: { ok: true } });
  expect((await host.runtime.runs({ limit: 1 })).runs).toMatchObject([{ status: "idle", turns: 3 }]);
});

test("a repeated request gets the first answer, and is read once", async () => {
  const host = new TestHost({ agents: [file] });
  await host.ask("file", ask("add", { line: "a" }));
  const first = await host.ask("file", ask("look", { at: 1 }, "look"));
  await host.ask("file", ask("add", { line: "b" }));
  await host.restart();
  expect(await host.ask("file", ask("look", { at: 1 }, "look"))).toEqual({ ...first, replayed: true });
  expect(await looksIn(host)).toEqual([{ at: 1 }, { code: "agent_error", message: "there is no line 1" }]);
  await expect(host.ask("file", ask("look", { at: 0 }, "look"))).rejects.toMatchObject({ code: "conflict" });
});

test("a logged read of an actor that has no run yet begins it", async () => {
  const host = new TestHost({ agents: [file] });
  await host.ask("file", ask("look", { at: 0 }, "look"));
  expect(await host.runtime.status("look")).toMatchObject({ error: { message: "there is no line 0" } });
  await host.ask("file", ask("add", { line: "a" }));
  expect((await host.runtime.runs({ limit: 9 })).runs).toHaveLength(1);
});

test("a logged read is taken in the run in which its actor continues", async () => {
  const host = new TestHost({ agents: [file], limits: { keyedRunEvents: 4 } });
  for (const line of ["a", "b", "c", "d"]) await host.ask("file", ask("add", { line }));
  for (let look = 0; look < 4; look += 1) await host.ask("file", ask("look", { at: look }));
  expect((await host.runtime.runs({ limit: 9 })).runs.length).toBeGreaterThan(2);
  expect((await looksIn(host)).at(-1)).toBe("d");
});

const faults = Array.from({ length: 12 }, (_, index) => index + 1).flatMap((commit) =>
  [true, false].map((written) => ({ commit, written })),
);

test.each(faults)(
  "a crash at commit $commit (written: $written) logs each look of a turn once",
  async ({ commit, written }) => {
    const host = new TestHost({ agents: [file, reader], commitFaults: [{ commit, kind: "crash", written }] });
    const chat = { type: "ChatRequest", input: "", request_id: asked } as const;
    const begin = async (): Promise<void> => {
      await host.ask("file", ask("add", { line: "a" }, "add"));
      await host.ask("file", ask("confirm", {}, "confirm"));
      await host.ask("reader", chat);
    };
    begin().catch(() => {});
    for (let round = 0; round < 20; round += 1) await host.environment.advance(1_000);
    if (host.crashed) {
      await host.restart();
      await begin();
      for (let round = 0; round < 20; round += 1) await host.environment.advance(1_000);
    }
    expect(await host.runtime.status(asked)).toMatchObject({ result: "a, there is no line 9" });
    expect(await looksIn(host)).toEqual([
      { at: 0 },
      "a",
      { at: 9 },
      { code: "agent_error", message: "there is no line 9" },
    ]);
    expect(await host.log.outbox({})).toEqual([]);
  },
);

test(
  "10,000 reads that are not logged change no event and no record of a log in which a turn waits",
  { tags: "long" },
  async () => {
    const host = new TestHost({ agents: [file] });
    await host.ask("file", ask("add", { line: "a" }));
    await host.ask("file", ask("confirm", {}, "confirm"));
    const { run_id: runId } = await host.runtime.status("confirm");
    const { commits } = host;
    const before = await host.log.read(runId, { after: 0, records: true });
    for (let hundred = 0; hundred < 100; hundred += 1) {
      const looks = Array.from({ length: 100 }, () => host.runtime.ask(file, "glance", {}, { key }));
      await host.environment.idle();
      expect(new Set(await Promise.all(looks))).toEqual(new Set([1]));
    }
    expect(await host.log.read(runId, { after: 0, records: true })).toEqual(before);
    expect(host.commits).toBe(commits);
  },
);

test("the option is for operations that only read, and is true or false", () => {
  const define = (options: object) => () =>
    defineAgent({
      name: "wrong",
      purpose: "Is not defined.",
      operations: { one: operation({ input: nothing, run: () => 1, ...options } as never) as never },
    });
  expect(define({ logged: true })).toThrow(
    "operation one of agent wrong has the option logged, which is for operations with read: true; all others are logged",
  );
  expect(define({ read: true, logged: 1 })).toThrow(
    "the logged of operation one of agent wrong is neither true nor false",
  );
});
