import { AgentError, defineAgent, operation } from "troupe";
import { createClient, WaitingError } from "troupe/client";
import type { AgentCall } from "troupe/client";
import type { Event } from "troupe/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../../agents/echo.ts";
import { interviewer } from "../../agents/interviewer.ts";
import { payments } from "../../agents/payments.ts";
import { ticker } from "../../agents/ticker.ts";
import { start } from "./servers.ts";
import type { Served } from "./servers.ts";

const adder = defineAgent({
  name: "adder",
  purpose: "Adds numbers.",
  operations: {
    add: operation({
      input: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => ({ sum: a + b }),
    }),
  },
});
const collector = defineAgent({
  name: "collector",
  purpose: "Lists what it was told since the last time.",
  messages: { add: z.string() },
  chat: (_, turn) => turn.received("add").join(", "),
});
const failing = defineAgent({
  name: "failing",
  purpose: "Fails.",
  chat() {
    throw new Error("it broke");
  },
});
const talker = defineAgent({
  name: "talker",
  purpose: "Says a number of words.",
  async chat(input, turn) {
    for (let number = 1; number <= Number(input); number += 1) await turn.text(`${number} `);
  },
});
/** Its log has pages without an event that a minimal level delivers. */
const listener = defineAgent({
  name: "listener",
  purpose: "Listens to a talker.",
  uses: { talker },
  async chat(input, turn) {
    await turn.call(talker, "chat", { input });
    await turn.text("heard");
  },
});

const agents = [adder, collector, echo, failing, interviewer, listener, payments, talker, ticker];

let server: Served;
beforeAll(async () => {
  server = await start({ agents });
});
afterAll(() => server[Symbol.asyncDispose]());

const client = () => createClient(server.url);
const pays = () => client().agent<typeof payments>("payments");
const bob = { to: "bob", amount: 3 };

describe("a call", () => {
  test("gives the output of the operation, as often as it is awaited", async () => {
    const call = client().agent<typeof echo>("echo").call("repeat", { text: "ho ", times: 3 });
    const { text } = await call;
    expect(text).toBe("ho ho ho ");
    expect(await call).toEqual({ text: "ho ho ho " });
  });

  test("of a chat gives the agent's text", async () => {
    expect(await client().agent<typeof echo>("echo").chat("hello there")).toBe("hello there");
    expect(await client().agent<typeof echo>("echo").call("chat", { input: "hi" })).toEqual({ output: "hi" });
  });

  test("of a chat gives the value of an agent that returns one", async () => {
    expect(await client().agent("adder").chat('{"a":1,"b":2}')).toEqual({ output: { sum: 3 } });
  });

  test("starts at once, without being awaited", async () => {
    const call = client().agent("echo").chat("nobody waits");
    const { run_id: runId } = await untilCompleted(call);
    expect(await call.runId).toBe(runId);
  });

  test("gives each event once to each of its readers, from the first one", async () => {
    const call = client().agent("ticker").chat("5 1");
    const [first, second] = await Promise.all([all(call), all(call)]);
    expect(first.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(second).toEqual(first);
    expect(await all(call)).toEqual(first);
    expect(await call.view()).toMatchObject({ status: "idle", turns: [{ outcome: "success" }] });
  });

  test("gives only its own events of a run that has others", async () => {
    const first = client().agent("echo").chat("one");
    await first;
    const second = client()
      .agent("echo")
      .chat("two", { runId: await first.runId });
    expect((await all(second)).map(({ id }) => id)).toEqual([4, 5, 6]);
  });

  test(
    "with more events than are kept reads the oldest from the server again",
    { tags: "long" },
    async () => {
      const call = client().agent("talker").chat("12000");
      await call;
      const ids = (await all(call)).map(({ id }) => id);
      expect(ids).toEqual(Array.from({ length: 12_002 }, (_, index) => index + 1));
    },
  );

  test("of a minimal level reads past the pages that its level leaves empty", async () => {
    const call = client().agent("listener").chat("2500", { loggingLevel: "minimal" });
    expect(await call).toBe("heard");
    const id: string = call.requestId;
    const request = client().run(id);
    const events = await all(request.events());
    expect(events.map(({ type }) => type)).toEqual(["RequestStarted", "TextOutput", "RequestCompleted"]);
    expect(await all(request.events({ soFar: true }))).toEqual(events);
    expect(await request.view()).toMatchObject({ status: "idle", head: events.at(-1)?.id });
  });

  test("with the id of an earlier one is that turn", async () => {
    const options = { requestId: "req_once" };
    const first = client().agent("echo").chat("hi", options);
    const again = client().agent("echo").chat("hi", options);
    expect([await first, await again]).toEqual(["hi", "hi"]);
    expect(await again.runId).toBe(await first.runId);
    const other = client().agent("echo").chat("something else", options);
    await expect(other).rejects.toMatchObject({ code: "conflict" });
  });

  test("works in a page that came over http from another machine, which has no crypto.randomUUID", async () => {
    const { randomUUID } = crypto;
    Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
    try {
      const call = pays().call("pay", bob, { answer: () => ({ approved: true }) });
      expect(await call).toEqual({ receipt: "bob:3" });
    } finally {
      Object.defineProperty(crypto, "randomUUID", { value: randomUUID, configurable: true });
    }
  });

  test("is refused with the issues of its input", async () => {
    const call = client().agent("echo").call("repeat", { text: 1 });
    await expect(call).rejects.toBeInstanceOf(AgentError);
    await expect(call).rejects.toMatchObject({
      code: "unprocessable",
      details: { issues: [{ path: "text" }, { path: "times" }] },
    });
    await expect(all(call)).rejects.toMatchObject({ code: "unprocessable" });
    await expect(call.runId).rejects.toMatchObject({ code: "unprocessable" });
    await expect(client().agent("nobody").chat("hi")).rejects.toMatchObject({ code: "not_found" });
  });

  test("of a turn that fails throws the turn's error", async () => {
    const call = client().agent("failing").chat("hi");
    await expect(call).rejects.toMatchObject({
      name: "AgentError",
      code: "agent_error",
      message: "it broke",
    });
    expect((await all(call)).at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "error" });
  });

  test("of a turn that is canceled throws `canceled`", async () => {
    const call = client().agent("ticker").chat("2 60000");
    await call.cancel();
    await expect(call).rejects.toMatchObject({ code: "canceled" });
  });

  test("that fails without being awaited rejects no other promise", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const refused = client().agent("nobody").chat("hi");
    const failed = client().agent("failing").chat("hi");
    const unreachable = createClient("http://127.0.0.1:1", { attempts: 1 }).agent("echo").chat("hi");
    for (const call of [refused, failed, unreachable]) await settled(call);
    await new Promise(setImmediate);
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });

  test("stops listening when its signal aborts, and the turn continues", async () => {
    const stop = new AbortController();
    const reason = new Error("enough");
    const call = client().agent("ticker").chat("3 200", { signal: stop.signal });
    const runId = await call.runId;
    const outcome = settled(call);
    const events = all(call).catch((thrown: unknown) => thrown);
    stop.abort(reason);
    expect([await outcome, await events]).toEqual([reason, reason]);
    expect(await client().request(call.requestId)).toBe("1\n2\n3\n");
    expect((await client().run(runId).view()).turns).toMatchObject([{ outcome: "success" }]);
    const late = client().agent("echo").chat("hi", { signal: stop.signal });
    await expect(late).rejects.toBe(reason);
  });
});

describe("a call of an agent that asks", () => {
  test("throws `waiting` with the questions, and continues with an answer", async () => {
    const call = pays().call("pay", bob);
    const thrown = await settled(call);
    expect(thrown).toBeInstanceOf(WaitingError);
    expect(thrown).toMatchObject({
      code: "waiting",
      message: expect.stringContaining("Pay 3 to bob?") as string,
    });
    const [wait] = (thrown as WaitingError).waits;
    expect(wait).toMatchObject({ questions: { approved: "Pay 3 to bob?" }, agent: "payments" });
    expect(call.waits).toMatchObject([{ waitId: wait?.waitId }]);
    expect(await settled(call), "awaited again").toBeInstanceOf(WaitingError);

    await expect(wait?.answer({ approved: "perhaps" })).rejects.toMatchObject({ code: "unprocessable" });
    expect(await settled(call), "after a refused answer").toBeInstanceOf(WaitingError);
    await wait?.answer({ approved: true });
    expect(await call).toEqual({ receipt: "bob:3" });
    expect(call.waits).toEqual([]);
  });

  test("gets its answers from an option", async () => {
    const asked: unknown[] = [];
    const output = await pays().call("pay", bob, {
      answer: ({ questions }) => {
        asked.push(questions);
        return { approved: true };
      },
    });
    expect(output).toEqual({ receipt: "bob:3" });
    expect(asked).toEqual([{ approved: "Pay 3 to bob?" }]);
  });

  test("answers several questions, each once", async () => {
    const answers: Record<string, string> = { name: "Ada", colour: "blue" };
    const asked: string[] = [];
    const reply = await client()
      .agent("interviewer")
      .chat("hi", {
        answer: async ({ questions }) => {
          const [key = ""] = Object.keys(questions);
          asked.push(key);
          await new Promise(setImmediate);
          return { [key]: answers[key] ?? "" };
        },
      });
    expect(asked.toSorted()).toEqual(["colour", "name"]);
    expect(reply).toContain("Ada");
  });

  test("stays open if the option leaves a question open, or throws", async () => {
    const call = pays().call("pay", bob, { answer: () => undefined });
    expect(await settled(call)).toBeInstanceOf(WaitingError);
    const reason = new Error("no idea");
    const other = pays().call("pay", bob, {
      answer: () => {
        throw reason;
      },
    });
    expect(await settled(other)).toBe(reason);
    expect(await settled(other)).toBeInstanceOf(WaitingError);
    await other.waits[0]?.answer({ approved: true });
    expect(await other).toEqual({ receipt: "bob:3" });
  });

  test("throws the refusal of an answer from the option", async () => {
    const call = pays().call("pay", bob, { answer: () => ({ approved: "perhaps" }) });
    await expect(call).rejects.toMatchObject({ code: "unprocessable" });
    await call.waits[0]?.answer({ approved: true });
    expect(await call).toEqual({ receipt: "bob:3" });
  });

  test("waits for the answer of another client if it is patient", async () => {
    const call = pays().call("pay", bob, { patient: true });
    for await (const { type } of call) {
      if (type !== "WaitForInput") continue;
      const elsewhere = client().request(call.requestId);
      const thrown = (await settled(elsewhere)) as WaitingError;
      await thrown.waits[0]?.answer({ approved: true });
    }
    expect(await call).toEqual({ receipt: "bob:3" });
  });

  test("ends its events at the question, or continues if that is answered meanwhile", async () => {
    const call = pays().call("pay", bob);
    expect((await all(call)).map(({ type }) => type)).toEqual(["RequestStarted", "WaitForInput"]);
    const seen: string[] = [];
    for await (const { type } of call) {
      seen.push(type);
      if (type === "WaitForInput") await call.waits[0]?.answer({ approved: true });
    }
    expect(seen).toEqual([
      "RequestStarted",
      "WaitForInput",
      "ResumeWithInput",
      "TextOutput",
      "RequestCompleted",
    ]);
  });

  test("can be answered by another client between two awaits", async () => {
    const call = pays().call("pay", bob);
    const { waits } = (await settled(call)) as WaitingError;
    const elsewhere = client().request(call.requestId);
    await settled(elsewhere);
    await elsewhere.waits[0]?.answer({ approved: true });
    expect(await call).toEqual({ receipt: "bob:3" });
    await expect(waits[0]?.answer({ approved: false })).rejects.toMatchObject({ code: "conflict" });
  });

  test("can be canceled while it waits", async () => {
    const call = pays().call("pay", bob);
    await settled(call);
    await call.cancel();
    await expect(call).rejects.toMatchObject({ code: "canceled" });
  });
});

test("an actor is a run with a name: calls and messages with its key reach it", async () => {
  const counter = client().agent<typeof collector>("collector").actor("shelf-7");
  await counter.tell("add", "a book");
  expect(await counter.chat("what is there?")).toBe("a book");
  await counter.tell("add", "a map");
  expect(await counter.call("chat", { input: "and now?" })).toEqual({ output: "a map" });
  const { runs } = await client().runs({ agent: "collector", key: "shelf-7" });
  expect(runs).toMatchObject([{ turns: 2 }]);
  // @ts-expect-error The agent has no such message.
  const unknown = counter.tell("remove", "a book");
  await expect(unknown).rejects.toMatchObject({ code: "unprocessable" });
});

describe("a request that was made before", () => {
  test("is taken up at the address of the server and of its agent", async () => {
    const made = pays().call("pay", bob);
    await settled(made);
    const taken = client().request(made.requestId);
    expect(await settled(taken)).toBeInstanceOf(WaitingError);
    expect(await taken.runId).toBe(await made.runId);
    const there = pays().request(made.requestId, { answer: () => ({ approved: true }) });
    expect(await there).toEqual({ receipt: "bob:3" });
    expect(await taken).toEqual({ receipt: "bob:3" });
    expect(await all(taken)).toEqual(await all(made));
  });

  test("that is unknown is refused", async () => {
    await expect(client().request("req_none")).rejects.toMatchObject({ code: "not_found" });
  });
});

async function all(events: AsyncIterable<Event>): Promise<readonly Event[]> {
  const seen: Event[] = [];
  for await (const one of events) seen.push(one);
  return seen;
}

/** What a call throws; `undefined` if it does not. */
async function settled(call: AgentCall<unknown>): Promise<unknown> {
  try {
    await call;
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/** The end of a call, from the server's own view. */
async function untilCompleted({ requestId }: AgentCall<unknown>): Promise<{ readonly run_id: string }> {
  return expect
    .poll(async () => server.runtime.status(requestId))
    .toMatchObject({ status: "completed" })
    .then(() => server.runtime.status(requestId));
}
