import { createRuntime, defineAgent, defineTool, fromMachine, operation } from "troupe";
import type { Agent, AgentError } from "troupe";
import { createClient, remoteAgent } from "troupe/client";
import type { Event, RequestId, TurnRequest } from "troupe/protocol";
import { collect } from "troupe/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMachine, emit, setup } from "xstate";
import { z } from "zod";
import { assistant } from "../../../agents/assistant.ts";
import { calculator } from "../../../agents/calculator.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { notebook } from "../../../agents/notebook.ts";
import { payments } from "../../../agents/payments.ts";
import { pdfWriter } from "../../../agents/pdf-writer.ts";
import { team } from "../../../agents/team.ts";
import { ticker } from "../../../agents/ticker.ts";
import { ofType, requestOf, textsOf, theOne } from "../../agents/events.ts";
import { completed, event, startHostile, stream } from "../hostile-server.ts";
import { start } from "../servers.ts";
import { FaultProxy } from "../stream/fault-proxy.ts";
import type { Served } from "../servers.ts";

/** Reports its input and has some special behavior on request. */
const witness = defineAgent({
  name: "witness",
  purpose: "Tells what it was given.",
  chat: (_input, turn) =>
    JSON.stringify({ metadata: turn.metadata, attachments: turn.request.attachments.length }),
  operations: {
    fail: operation({
      input: z.object({}),
      run() {
        throw new Error("on purpose");
      },
    }),
    nothing: operation({ input: z.object({}), run: () => ({}) }),
    large: operation({
      input: z.object({}),
      async run(_input, turn) {
        await turn.text("x".repeat(200_000));
        return { text: "y".repeat(250_000) };
      },
    }),
  },
});

const spade = defineTool({
  name: "spade",
  description: "Digs.",
  input: z.object({}),
  async run(_input, turn) {
    await turn.text("scratch");
    return { depth: 1 };
  },
});

const digger = defineAgent({
  name: "digger",
  purpose: "Digs with a spade.",
  async chat(_input, turn) {
    await turn.text("I shall dig.");
    await turn.tool(spade, {});
  },
});

const lead = defineAgent({
  name: "lead",
  purpose: "Has somebody dig.",
  async chat(input, turn) {
    await turn.call(digger, "chat", { input });
    await turn.text("It is dug.");
  },
});

/** A machine that pauses, emits an event and has a machine inside it. */
const part = createMachine({
  initial: "idle",
  states: { idle: { after: { 1_000: "over" } }, over: { type: "final" } },
});
const clockwork = fromMachine({
  name: "clockwork",
  purpose: "Runs a machine.",
  machine: setup({
    types: { emitted: {} as { readonly type: "priced"; readonly price: number } },
    actors: { part },
  }).createMachine({
    initial: "open",
    states: {
      open: { on: { chat: "working" } },
      working: {
        entry: emit({ type: "priced", price: 3 }),
        invoke: { id: "part", src: "part", onDone: "end" },
      },
      end: { type: "final" },
    },
  }),
});

let far: Served;
beforeAll(async () => {
  far = await start({
    agents: [
      team,
      payments,
      interviewer,
      notebook,
      pdfWriter,
      ticker,
      witness,
      lead,
      calculator,
      assistant,
      clockwork,
    ],
  });
});
afterAll(() => far[Symbol.asyncDispose]());

const remote = (name: string, options?: Parameters<typeof remoteAgent>[1]) =>
  remoteAgent(`${far.url}/${name}`, options);

/** An agent that calls another one and reports the result. */
function boss(worker: Agent, name = "chat"): Agent {
  return defineAgent({
    name: "boss",
    purpose: "Has others work.",
    tools: [worker],
    async chat(input, turn) {
      try {
        const result = await turn.call(worker, name, name === "chat" ? { input } : JSON.parse(input));
        await turn.text(`got ${JSON.stringify(result)}`);
      } catch (error) {
        const { code, message } = error as AgentError;
        await turn.text(`${code}: ${message}`);
      }
    },
  });
}

describe("events of a remote agent", () => {
  test("that is called are one level deeper than its caller, under their remote names", async () => {
    const events = await ask([boss(remote("lead", { name: "crew" }))], "boss", chat("dig"));
    expect(events.map(({ agent, depth, type }) => [depth, agent, type])).toEqual([
      [0, "boss", "RequestStarted"],
      [0, "boss", "ToolCall"],
      [1, "lead", "ToolCall"],
      [2, "digger", "TextOutput"],
      [2, "digger", "ToolCall"],
      [3, "spade", "ToolTextOutput"],
      [2, "digger", "ToolResult"],
      [1, "lead", "ToolResult"],
      [1, "lead", "TextOutput"],
      [0, "boss", "ToolResult"],
      [0, "boss", "TextOutput"],
      [0, "boss", "RequestCompleted"],
    ]);
    expect(ofType(events, "ToolCall").map(({ function_name: name }) => name)).toEqual([
      "crew",
      "digger",
      "spade",
    ]);
    expect(ofType(events, "ToolCall").map(({ callee }) => callee)).toEqual([
      { kind: "remote", name: "crew" },
      { kind: "agent", name: "digger" },
      { kind: "tool", name: "spade" },
    ]);
  });

  test("that is requested directly are at their own depth, and it has its local name", async () => {
    const events = await ask([remote("lead", { name: "crew" })], "crew", chat("dig"));
    expect(events.map(({ agent, depth, type }) => [depth, agent, type])).toEqual([
      [0, "crew", "RequestStarted"],
      [0, "crew", "ToolCall"],
      [1, "digger", "TextOutput"],
      [1, "digger", "ToolCall"],
      [2, "spade", "ToolTextOutput"],
      [1, "digger", "ToolResult"],
      [0, "crew", "ToolResult"],
      [0, "crew", "TextOutput"],
      [0, "crew", "RequestCompleted"],
    ]);
  });

  test("have ids of the local run, each under the call in which it occurred", async () => {
    const events = await ask([boss(remote("lead"))], "boss", chat("dig"));
    const calls = ofType(events, "ToolCall").map(({ tool_call_id: id }) => id);
    expect(new Set(calls).size).toBe(calls.length);
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
    const within = events.filter(({ depth }) => depth > 0).map(({ parent_call_id: parent }) => parent);
    expect(calls).toEqual(expect.arrayContaining(within));
    const ends = [...ofType(events, "ToolResult"), ...ofType(events, "ToolError")];
    expect(ends.map(({ tool_call_id: id }) => id).toSorted()).toEqual(calls.toSorted());
  });

  test.each([
    ["team", "the moon"],
    ["calculator", "6 / 0"],
    ["pdf-writer", "Moon: far"],
    ["assistant", "what is 6 / 3"],
    ["clockwork", "go"],
  ])("equal those that %s makes on its own server", { tags: "long" }, async (name, input) => {
    const there = await collect(far.runtime, name, chat(input));
    const here = await ask([remote(name)], name, chat(input));
    expect(here.map(withoutPlace)).toEqual(there.map(withoutPlace));
  });
});

test("the transitions, sleeps and emitted events of a remote machine are one level deeper in its caller", async () => {
  const events = await ask([boss(remote("clockwork"))], "boss", chat("go"));
  const inside = events.filter(({ depth }) => depth === 1);
  expect(
    inside.map((event) => [event.type, event.type === "StateChanged" ? [event.machine, event.value] : ""]),
  ).toEqual([
    ["Custom", ""],
    ["StateChanged", [undefined, "working"]],
    ["Sleeping", ""],
    ["StateChanged", ["part", "over"]],
    ["StateChanged", [undefined, "end"]],
  ]);
  const call = theOne(events, "ToolCall").tool_call_id;
  expect(inside.map(({ agent, parent_call_id: parent }) => [agent, parent])).toEqual(
    inside.map(() => ["clockwork", call]),
  );
  expect(theOne(inside, "Sleeping").call_id.startsWith(`${call}.`)).toBe(true);
});

describe("the end of a remote agent", () => {
  test("returns its text and its structured result", async () => {
    const pay = { type: "OperationRequest", operation: "nothing", input: {} } as const;
    expect((await ask([remote("witness")], "witness", pay)).at(-1)).toMatchObject({
      result: "{}",
      output: {},
    });
    const called = await ask([boss(remote("witness"), "nothing")], "boss", chat("{}"));
    expect(textsOf(called)).toEqual(["got {}"]);
    expect(theOne(called, "ToolCall").function_name).toBe("witness.nothing");
  });

  test("reports its failure to its caller and to its client", async () => {
    const fail = { type: "OperationRequest", operation: "fail", input: {} } as const;
    expect((await ask([remote("witness")], "witness", fail)).at(-1)).toMatchObject({
      finish_reason: "error",
      error: { code: "agent_error", message: "agent witness failed: on purpose" },
    });
    const called = await ask([boss(remote("witness"), "fail")], "boss", chat("{}"));
    expect(textsOf(called)).toEqual(["tool_error: agent witness failed: on purpose"]);
  });

  test("can be as large as that of a local agent", async () => {
    const large = { type: "OperationRequest", operation: "large", input: {} } as const;
    const there = await collect(far.runtime, "witness", large);
    const here = await ask([remote("witness")], "witness", large);
    expect(here.map(withoutPlace)).toEqual(there.map(withoutPlace));
    expect(JSON.stringify(here.at(-1)).length).toBeGreaterThan(370_000);
  });

  test("is an error if it refuses its input or has no such operation", async () => {
    const wrong = await ask([boss(remote("payments"), "pay")], "boss", chat('{"to": "bob"}'));
    expect(textsOf(wrong)[0]).toMatch(/^invalid_input: agent payments refused: .* does not fit: amount/);
    const unknown = await ask([boss(remote("payments"), "steal")], "boss", chat("{}"));
    expect(textsOf(unknown)[0]).toMatch(/^tool_error: agent payments refused: .*has no operation steal/);
  });
});

describe("questions of a remote agent", () => {
  test("reach the client at any depth, and the answer reaches the agent", async () => {
    await using near = await start({ agents: [boss(remote("team"))] });
    const asked = await collect(near.runtime, "boss", chat("buy a lamp for 5"));
    expect(asked.at(-1)).toMatchObject({
      type: "WaitForInput",
      agent: "payments",
      depth: 2,
      request_keys: { approved: "Pay 5 to the shop?" },
    });
    expect(await near.runtime.status(requestOf(asked))).toMatchObject({ status: "waiting" });
    const answered = await answer(near, "boss", requestOf(asked), { approved: true });
    expect(answered.at(-1)).toMatchObject({
      result: 'got {"output":"Bought a lamp, receipt the shop:5."}',
    });
  });

  test("stay open after an answer that does not fit", async () => {
    await using near = await start({ agents: [remote("payments")] });
    const asked = await collect(near.runtime, "payments", chat("pay 3 to bob"));
    const wrong = answer(near, "payments", requestOf(asked), { approved: "perhaps" });
    await expect(wrong).rejects.toMatchObject({
      code: "unprocessable",
      details: { issues: [{ path: "approved" }] },
    });
    const right = await answer(near, "payments", requestOf(asked), { approved: true });
    expect(right.at(-1)).toMatchObject({ result: "Paid 3 to bob." });
  });

  test("that are open together can be answered in any order", async () => {
    await using near = await start({ agents: [remote("interviewer")] });
    const asked = await collect(near.runtime, "interviewer", chat("hi"));
    const [name, colour] = ofType(asked, "WaitForInput");
    const requestId = requestOf(asked);
    await answer(near, "interviewer", requestId, { colour: "blue" }, colour?.id);
    const end = await answer(near, "interviewer", requestId, { name: "Ada" }, name?.id);
    expect(end.at(-1)).toMatchObject({ result: "Ada likes blue." });
  });

  test("that another client answers there continue here when they are answered here too late", async () => {
    await using near = await start({ agents: [remote("payments")] });
    const asked = await collect(near.runtime, "payments", chat("pay 4 to eve"));
    const there = createClient(far.url);
    const { runs } = await there.runs({ agent: "payments", status: "waiting", limit: 1 });
    const { turns } = await there.run(runs[0]?.run_id ?? "").view();
    await there.request(turns[0]?.requestId ?? "", { answer: () => ({ approved: false }) });

    const late = answer(near, "payments", requestOf(asked), { approved: true });
    await expect(late).rejects.toMatchObject({ code: "conflict" });
    const events = await all(createClient(near.url).request(requestOf(asked)));
    expect(events.map(({ type }) => type)).toEqual([
      "RequestStarted",
      "WaitForInput",
      "ResumeWithInput",
      "TextOutput",
      "RequestCompleted",
    ]);
    expect(events.at(-1)).toMatchObject({ result: "declined" });
    // As after an answer that was given here, a new stream begins with the answer.
    const feed = await near.runtime.follow(await near.runtime.resolve(requestOf(asked)), {});
    const shown: string[] = [];
    for await (const page of feed.pages)
      shown.push(...page.events.map((text) => (JSON.parse(text) as Event).type));
    expect(shown).toEqual(["ResumeWithInput", "TextOutput", "RequestCompleted"]);
  });
});

describe("files of a remote agent", () => {
  test("are stored here with the same bytes", async () => {
    await using near = await start({ agents: [boss(remote("pdf-writer"))] });
    const events = await collect(near.runtime, "boss", chat("Moon: far away"));
    const { url, name, size_bytes: size } = theOne(events, "ArtifactGenerated");
    const file = await createClient(near.url).artifact(url);
    const bytes = await file.bytes();
    expect(new TextDecoder().decode(bytes.subarray(0, 5))).toBe("%PDF-");
    expect([name, bytes.length]).toEqual(["Moon.pdf", size]);
    expect(
      theOne(
        events.filter(({ depth }) => depth === 0),
        "ToolResult",
      ).text_result,
    ).toContain(url);
    await far.runtime.removeRun(
      (await far.runtime.runs({ agent: "pdf-writer", limit: 1 })).runs[0]?.run_id as never,
    );
    expect((await createClient(near.url).artifact(url)).ok).toBe(true);
  });

  test("are stored here when they are announced as in the draft, with the file's id as the event's id", async () => {
    const artifact = { id: "file-7", name: "a.txt", url: "/file/a.txt", mime_type: "text/plain" };
    await using drafted = await startHostile({
      getevents: stream(event(1, "RequestStarted"), event(2, "ArtifactGenerated", artifact), completed(3)),
      file: (response) => void response.end("the bytes"),
    });
    const runtime = createRuntime({ agents: [remoteAgent(drafted.url)] });
    const events = await collect(runtime, "fiend", chat("go"));
    expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
    const file = theOne(events, "ArtifactGenerated");
    expect(file).toMatchObject({ id: 2, name: "a.txt", size_bytes: 9 });
    await runtime.close();
  });

  test("are sent to it with the request that has them, and with no call", async () => {
    const witnessed = remote("witness");
    await using near = await start({ agents: [witnessed, boss(witnessed)] });
    const client = createClient(near.url);
    const { artifactId } = await client.upload({ name: "a.txt", mimeType: "text/plain", data: "hello" });
    const request = { ...chat("hi"), attachments: [artifactId] };
    expect((await collect(near.runtime, "witness", request)).at(-1)).toMatchObject({
      result: '{"metadata":{},"attachments":1}',
    });
    const called = await collect(near.runtime, "boss", request);
    expect(textsOf(called)[0]).toContain(String.raw`\"attachments\":0`);
  });
});

test("a canceled call is canceled on the other server too", async () => {
  await using near = await start({ agents: [boss(remote("ticker"))] });
  const call = createClient(near.url).agent("boss").chat("1000 1000");
  for await (const { type } of call) {
    if (type === "TextOutput") await call.cancel();
  }
  const events = await all(call);
  expect(events.slice(-3).map(({ type }) => type)).toEqual([
    "CancelRequest",
    "ToolError",
    "RequestCompleted",
  ]);
  const { runs } = await createClient(far.url).runs({ agent: "ticker", limit: 1 });
  const there = await all(
    createClient(far.url)
      .run(runs[0]?.run_id ?? "")
      .events(),
  );
  expect(there.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "canceled" });
});

test("a canceled question is canceled on the other server too, even if the turn was not in memory", async () => {
  await using near = await start({ agents: [boss(remote("payments"))], limits: { idleRuns: 0 } });
  const asked = await collect(near.runtime, "boss", chat("pay 7 to dan"));
  await createClient(near.url).request(requestOf(asked)).cancel();
  const { runs } = await createClient(far.url).runs({ agent: "payments", limit: 1 });
  const there = await all(
    createClient(far.url)
      .run(runs[0]?.run_id ?? "")
      .events(),
  );
  expect(there.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "canceled" });
});

test("each local run has one remote run, so that the agent remembers", async () => {
  await using near = await start({ agents: [remote("notebook"), boss(remote("notebook", { name: "own" }))] });
  const first = await collect(near.runtime, "notebook", chat("milk"));
  const runId = first[0]?.run_id as never;
  const second = await collect(near.runtime, "notebook", { ...chat("bread"), run_id: runId });
  expect(second.at(-1)).toMatchObject({ result: "1. milk\n2. bread" });

  const called = await collect(near.runtime, "boss", chat("milk"));
  const again = await collect(near.runtime, "boss", { ...chat("bread"), run_id: called[0]?.run_id as never });
  expect(again.at(-1)).toMatchObject({ result: 'got {"output":"1. bread"}' });
});

test("with memory of the run, its calls of one local run share one remote run", async () => {
  await using near = await start({ agents: [boss(remote("notebook", { memory: "run" }))] });
  const called = await collect(near.runtime, "boss", chat("milk"));
  const again = await collect(near.runtime, "boss", { ...chat("bread"), run_id: called[0]?.run_id as never });
  expect(again.at(-1)).toMatchObject({ result: String.raw`got {"output":"1. milk\n2. bread"}` });
});

test("metadata is forwarded only on request", async () => {
  const request = { ...chat("hi"), request_metadata: { user: "ada" } };
  expect((await ask([remote("witness")], "witness", request)).at(-1)).toMatchObject({
    result: '{"metadata":{},"attachments":0}',
  });
  expect((await ask([remote("witness", { metadata: true })], "witness", request)).at(-1)).toMatchObject({
    result: '{"metadata":{"user":"ada"},"attachments":0}',
  });
});

describe("the description of a remote agent", () => {
  test("equals that of the other server, including schemas", async () => {
    const runtime = createRuntime({ agents: [remote("payments", { name: "cash" })] });
    const asked = await collect(runtime, "cash", chat("hello"));
    expect(asked.at(-1)).toMatchObject({ finish_reason: "success" });
    const there = far.runtime.describe("payments");
    expect(runtime.describe("cash")).toMatchObject({
      name: "cash",
      purpose: there.purpose,
      operations: there.operations.map(({ name, input_schema }) => ({ name, input_schema })),
    });
    await runtime.close();
  });

  test("lets a wrong input be refused here, before anything is sent", async () => {
    const runtime = createRuntime({ agents: [remote("payments")] });
    const before = await far.runtime.runs({ agent: "payments", limit: 1_000 });
    const wrong = { type: "OperationRequest", operation: "pay", input: { to: "" } } as const;
    await expect(runtime.process("payments", wrong)).rejects.toMatchObject({ code: "unprocessable" });
    const unknown = { type: "OperationRequest", operation: "steal", input: {} } as const;
    await expect(runtime.process("payments", unknown)).rejects.toMatchObject({ code: "not_found" });
    expect((await far.runtime.runs({ agent: "payments", limit: 1_000 })).runs).toHaveLength(
      before.runs.length,
    );
    await runtime.close();
  });

  test("is minimal while the other server is unreachable, and complete afterwards", async () => {
    let isDown = true;
    const flaky: typeof fetch = (...asked) =>
      isDown ? Promise.reject(new TypeError("no route")) : fetch(...asked);
    const runtime = createRuntime({
      agents: [remote("payments", { fetch: flaky, refreshMs: 0, limits: { acceptMs: 50 } })],
    });
    const failed = await collect(runtime, "payments", chat("hello"));
    expect(failed.at(-1)).toMatchObject({
      error: { code: "agent_error", message: "agent payments cannot be reached" },
    });
    expect(runtime.describe("payments")).toMatchObject({
      purpose: "A remote agent whose description is not loaded yet.",
      operations: [{ name: "chat" }],
    });

    isDown = false;
    await collect(runtime, "payments", chat("hello"));
    expect(runtime.describe("payments")).toMatchObject({
      purpose: payments.purpose,
      operations: [{ name: "chat" }, { name: "pay" }],
    });
    await runtime.close();
  });

  test("is fetched once, and again when it is old", async () => {
    let asked = 0;
    const counting: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      if (!(request[0] as string).endsWith("/describe")) return response;
      asked += 1;
      return Response.json({ ...((await response.json()) as object), purpose: `Says it ${asked} times.` });
    };
    const fresh = createRuntime({ agents: [remote("payments", { fetch: counting })] });
    for (const input of ["one", "two", "three"]) await collect(fresh, "payments", chat(input));
    expect(asked).toBe(1);
    await fresh.close();

    const old = createRuntime({ agents: [remote("payments", { fetch: counting, refreshMs: 0 })] });
    await expect
      .poll(async () => {
        await collect(old, "payments", chat("hello"));
        return old.describe("payments").purpose;
      })
      .toMatch(/^Says it ([4-9]|\d\d) times/);
    await old.close();
  });
});

test.each([["https://example.org/"], ["no address"]])("%s contains no agent name", (url) => {
  expect(() => remoteAgent(url)).toThrow("contains no agent name");
});

/** The content of an event, without ids and times. */
function withoutPlace(event: Event): object {
  const { run_id: _run, request_id: _request, ts: _ts, parent_call_id: _parent, ...rest } = event;
  const ids = {
    call_id: 0,
    tool_call_id: 0,
    artifact_id: 0,
    url: 0,
    elapsed_ms: 0,
    text_result: 0,
    until: 0,
  };
  return Object.fromEntries(Object.entries(rest).filter(([key]) => !(key in ids)));
}

function chat(input: string): TurnRequest & { readonly type: "ChatRequest" } {
  return { type: "ChatRequest", input };
}

async function ask(agents: readonly Agent[], agent: string, request: TurnRequest): Promise<readonly Event[]> {
  const runtime = createRuntime({ agents });
  try {
    return await collect(runtime, agent, request);
  } finally {
    await runtime.close();
  }
}

function answer(
  { runtime }: Served,
  agent: string,
  requestId: RequestId,
  values: Readonly<Record<string, string | boolean>>,
  waitId?: number,
): ReturnType<typeof collect> {
  return collect(runtime, agent, {
    type: "ResumeWithInput",
    request_id: requestId,
    request_keys: values,
    ...(waitId !== undefined && { wait_id: waitId }),
  });
}

async function all(stream: AsyncIterable<Event>): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

test("an agent whose server is away is a degraded part of this one until its server is back", async () => {
  await using far = await start({ agents: [ticker] });
  await using way = await FaultProxy.start(far.url);
  way.isDown = true;
  await using near = await start({ agents: [remoteAgent(`${way.url}/ticker`, { refreshMs: 0 })] });
  const part = () => near.runtime.readiness.parts().find(({ name }) => name === "remote");
  const detail = "the server of agent ticker does not answer";
  await expect.poll(part).toEqual({ name: "remote", state: "degraded", detail });
  way.isDown = false;
  await expect.poll(part).toEqual({ name: "remote", state: "ready" });
});
