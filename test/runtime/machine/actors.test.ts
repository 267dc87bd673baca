import {
  agentActor,
  askActor,
  createRuntime,
  defineAgent,
  defineTool,
  fromMachine,
  modelActor,
  operation,
  tellActor,
  toolActor,
} from "troupe";
import type { Agent, Model } from "troupe";
import type { Request } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { assign, createMachine, fromPromise, setup } from "xstate";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

const purpose = "Calls others.";

const researcher = defineAgent({
  name: "researcher",
  purpose: "Finds out, with a question.",
  async chat(input, turn) {
    await turn.text(`looking for ${input}`);
    const { where } = await turn.waitForInput({ where: "Where?" });
    await turn.sleep(5_000);
    return `${input} is ${JSON.stringify(where)}`;
  },
});

const price = defineTool({
  name: "price",
  description: "Prices a thing.",
  input: z.object({ item: z.string() }),
  effect: "idempotent",
  run: ({ item }) => ({ price: item.length }),
});

const model: Model = {
  name: "writer",
  async *generate(input) {
    yield { type: "text", text: `dear ${JSON.stringify(input)}` };
    yield { type: "result", result: { words: 2 }, usage: { output_tokens: 2 } };
  },
};

const machine = setup({
  types: {
    context: {} as { readonly found: string; readonly price: number; readonly words: number },
    events: {} as { readonly type: "chat"; readonly input: string },
  },
  actors: {
    research: agentActor(researcher, "chat"),
    price: toolActor(price),
    draft: modelActor(model),
  },
}).createMachine({
  context: { found: "", price: 0, words: 0 },
  initial: "open",
  states: {
    open: { on: { chat: "working" } },
    working: {
      type: "parallel",
      onDone: "done",
      states: {
        research: {
          initial: "looking",
          states: {
            looking: {
              invoke: {
                src: "research",
                input: { input: "moss" },
                onDone: { target: "found", actions: assign({ found: ({ event }) => event.output.output }) },
              },
            },
            found: { type: "final" },
          },
        },
        sale: {
          initial: "pricing",
          states: {
            pricing: {
              invoke: {
                src: "price",
                input: { item: "moss" },
                onDone: {
                  target: "drafting",
                  actions: assign({ price: ({ event }) => event.output.price }),
                },
              },
            },
            drafting: {
              invoke: {
                src: "draft",
                input: { to: "ada" },
                onDone: {
                  target: "ready",
                  actions: assign({ words: ({ event }) => (event.output as { words: number }).words }),
                },
              },
            },
            ready: { type: "final" },
          },
        },
      },
    },
    done: { type: "final" },
  },
  output: ({ context }) => context,
});

const shop = fromMachine({ name: "shop", purpose, machine });

test("a machine's actors are calls: their events are one level deeper, their questions reach the caller", async () => {
  const host = new TestHost({ agents: [shop] });
  await host.ask("shop", chat);
  const events = await host.events(asked);
  expect(
    ofType(events, "ToolCall").map(({ function_name, callee, args }) => [function_name, callee, args]),
  ).toEqual([
    ["research", { kind: "agent", name: "researcher" }, { input: "moss" }],
    ["price", { kind: "tool", name: "price" }, { item: "moss" }],
  ]);
  expect(ofType(events, "TextOutput").map(({ agent, depth, content }) => [agent, depth, content])).toEqual([
    ["researcher", 1, "looking for moss"],
    ["shop", 0, 'dear {"to":"ada"}'],
  ]);
  expect(ofType(events, "WaitForInput")).toMatchObject([{ agent: "researcher", depth: 1 }]);
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "waiting",
    request_keys: { where: "Where?" },
  });

  await host.ask("shop", { type: "ResumeWithInput", request_id: asked, request_keys: { where: "here" } });
  await host.environment.advance(5_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    output: { found: 'moss is "here"', price: 4, words: 2 },
    usage: { output_tokens: 2 },
  });
});

test("after a crash at any commit a machine's actors continue, and its states are the same", async () => {
  const answer = {
    type: "ResumeWithInput",
    request_id: asked,
    request_keys: { where: "here" },
    resume_id: "answer",
  } as const;
  const play = async (commit: number, written: boolean): Promise<{ states: unknown; calls: number }> => {
    const host = new TestHost({ agents: [shop], commitFaults: [{ commit, kind: "crash", written }] });
    // A process that dies gives no answer, so the request is sent again.
    const send = async (request: Request): Promise<void> => {
      for (let time = 0; time < 2; time += 1) {
        host.runtime.process("shop", request).catch(() => {});
        await host.environment.idle();
        if (host.crashed) await host.restart();
      }
    };
    await send(chat);
    await send(answer);
    for (let time = 0; time < 3; time += 1) {
      await host.environment.advance(5_000);
      if (host.crashed) await host.restart();
    }
    const events = await host.events(asked);
    expect(events.at(-1)).toMatchObject({ output: { found: 'moss is "here"', price: 4, words: 2 } });
    return {
      // The two regions end in an order that a crash can change.
      states: ofType(events, "StateChanged")
        .map(({ steps }) => JSON.stringify(steps[0]))
        .sort(),
      calls: ofType(events, "ToolCall").filter(({ attempt = 1 }) => attempt === 1).length,
    };
  };
  const calm = await play(0, true);
  expect(calm.states).toHaveLength(4);
  for (let commit = 1; commit <= 16; commit += 1)
    for (const written of [false, true]) expect(await play(commit, written)).toEqual(calm);
});

test("bind replaces the agent of an actor, and a failed actor is an error event of the machine", async () => {
  const failing = defineAgent({
    name: "failing",
    purpose: "Fails.",
    chat: () => {
      throw new Error("nothing found");
    },
  });
  const chart = setup({
    types: { context: {} as { readonly why: string } },
    actors: { research: agentActor(researcher, "chat") },
  }).createMachine({
    context: { why: "" },
    initial: "open",
    states: {
      open: { on: { chat: "looking" } },
      looking: {
        invoke: {
          src: "research",
          input: { input: "moss" },
          onError: { target: "end", actions: assign({ why: ({ event }) => String(event.error) }) },
        },
      },
      end: { type: "final" },
    },
    output: ({ context }) => context,
  });
  const agent = fromMachine({ name: "seeker", purpose, machine: chart });
  const runtime = createRuntime({ agents: [agent], bind: { research: failing } });
  const events = await collect(runtime, "seeker", { type: "ChatRequest", input: "" });
  expect(ofType(events, "ToolCall")).toMatchObject([
    { function_name: "research", callee: { kind: "agent", name: "failing" } },
  ]);
  expect(ofType(events, "StateChanged").at(-1)).toMatchObject({ cause: "error research" });
  expect(JSON.stringify(events.at(-1))).toContain("nothing found");
  expect(runtime.describe("seeker").tools).toEqual(["failing"]);
  await runtime.close();
});

test("a state that is left cancels its actor, with its questions", async () => {
  const agent = fromMachine({
    name: "impatient",
    purpose,
    machine: createMachine({
      initial: "open",
      states: {
        open: { on: { chat: "looking" } },
        looking: { invoke: { src: "research", input: { input: "moss" } }, after: { 60_000: "late" } },
        late: { type: "final" },
      },
    }),
    actors: { research: agentActor(researcher, "chat") },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("impatient", chat);
  await host.environment.advance(30_000);
  await host.restart();
  await host.environment.advance(30_000);
  const events = await host.events(asked);
  expect(ofType(events, "ToolError")).toMatchObject([{ code: "canceled" }]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
});

test("the first event has the turn, with secrets as names", async () => {
  const agent = fromMachine({
    name: "keeper",
    purpose,
    machine: createMachine({
      context: ({ input }: { input: unknown }) => input as object,
      initial: "open",
      states: { open: { on: { book: "end" } }, end: { type: "final" } },
      output: ({ context }) => context,
    }),
    operations: { book: operation({ input: z.object({ item: z.string() }) }) },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("keeper", { type: "ConfigureRequest", args: { api_key: "s3cret", level: 3 } });
  await host.ask("keeper", {
    type: "OperationRequest",
    operation: "book",
    input: { item: "lamp" },
    request_id: asked,
    request_metadata: { who: "ada" },
  });
  const end = (await host.events(asked)).at(-1);
  expect(end).toMatchObject({
    output: {
      type: "book",
      item: "lamp",
      turn: {
        request: { requestId: asked, operation: "book" },
        metadata: { who: "ada" },
        config: { level: 3, api_key: { $secret: "config.api_key" } },
        attachments: [],
      },
    },
  });
  expect(JSON.stringify(end)).not.toContain("s3cret");
});

test("a promise in a machine inside the machine is a call, and its delays continue after a crash", async () => {
  let times = 0;
  const inner = setup({ actors: { deed: fromPromise(async () => (times += 1)) } }).createMachine({
    initial: "waiting",
    states: {
      waiting: { after: { 3_000: "doing" } },
      doing: { invoke: { src: "deed", onDone: "resting" } },
      resting: { after: { 3_000: "end" } },
      end: { type: "final" },
    },
  });
  const agent = fromMachine({
    name: "nested",
    purpose,
    machine: setup({ actors: { inner } }).createMachine({
      initial: "open",
      states: {
        open: { on: { chat: "working" } },
        working: { invoke: { src: "inner", onDone: "end" } },
        end: { type: "final" },
      },
    }),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("nested", chat);
  for (let time = 0; time < 6; time += 1) {
    await host.environment.advance(1_000);
    await host.restart();
  }
  await host.environment.advance(0);
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
  expect(times).toBe(1);
  expect(ofType(events, "Sleeping")).toHaveLength(2);
  expect(ofType(events, "ToolCall")).toMatchObject([{ function_name: "deed", callee: { kind: "effect" } }]);
});

test("output makes the result of a turn from the snapshot", async () => {
  const agent: Agent = fromMachine({
    name: "result",
    purpose,
    machine: createMachine({ initial: "open", states: { open: { on: { chat: "rest" } }, rest: {} } }),
    output: (snapshot) => ({ state: snapshot.value as string }),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("result", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({ output: { state: "rest" } });
});

test.each([
  [
    "an agent that is none",
    () => agentActor({} as never, "chat"),
    /the agent of agentActor is not an agent/u,
  ],
  ["a model that is none", () => modelActor({} as never), /the model of modelActor is not a model/u],
])("%s is refused at the definition", (_, define, error) => {
  expect(define).toThrow(error);
});

test("a machine asks another run, and waits for its answer over a restart", async () => {
  const room = defineAgent({
    name: "room",
    purpose: "Counts who is there, slowly.",
    operations: {
      count: operation({
        input: z.object({ of: z.string() }),
        output: z.object({ count: z.number() }),
        async run({ of }, turn) {
          await turn.sleep(5_000);
          return { count: of.length };
        },
      }),
    },
  });
  const agent = fromMachine({
    name: "counter",
    purpose,
    machine: setup({
      types: { context: {} as { readonly count: number; readonly why: string } },
      actors: { count: askActor(room, "count") },
    }).createMachine({
      context: { count: 0, why: "" },
      initial: "open",
      states: {
        open: { on: { chat: "asking", wrong: "failing" } },
        asking: {
          invoke: {
            src: "count",
            input: { actor: "room-7", input: { of: "four" } },
            onDone: { target: "end", actions: assign({ count: ({ event }) => event.output.count }) },
          },
        },
        failing: {
          invoke: {
            src: "count",
            input: { actor: "no key!", input: { of: "four" } },
            onError: { target: "end", actions: assign({ why: ({ event }) => String(event.error) }) },
          },
        },
        end: { type: "final" },
      },
      output: ({ context }) => context,
    }),
    operations: { wrong: operation({}) },
  });
  const host = new TestHost({ agents: [agent, room] });
  await host.ask("counter", chat);
  await host.restart();
  await host.environment.advance(5_000);
  await host.environment.advance(1_000);
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ output: { count: 4 } });
  expect(ofType(events, "ToolCall")).toMatchObject([
    { callee: { kind: "actor", name: "room", key: "room-7" } },
  ]);
  expect((await host.runtime.runs({ limit: 9, agent: "room" })).runs).toMatchObject([
    { key: "room-7", turns: 1 },
  ]);

  await host.ask("counter", {
    type: "OperationRequest",
    operation: "wrong",
    input: {},
    request_id: "wrong",
  });
  const wrong = await host.events("wrong");
  expect(ofType(wrong, "ToolCall")).toEqual([]);
  expect(JSON.stringify(wrong.at(-1))).toContain("the key of an actor must have");
});

test("a machine tells another run an operation and a message, once each, also over a crash at any commit", async () => {
  const room = defineAgent({
    name: "room",
    purpose: "Says what it is told.",
    messages: { note: z.string() },
    operations: (own) => ({
      say: own({
        input: z.object({ text: z.string() }),
        async run({ text }, turn) {
          await turn.text(`${text} ${turn.received("note").join(" ")};`);
          return null;
        },
      }),
    }),
  });
  const telling = fromMachine({
    name: "telling",
    purpose,
    machine: setup({
      types: { context: {} as { readonly told: unknown } },
      actors: { say: tellActor(room, "say"), note: tellActor(room, "note") },
    }).createMachine({
      context: { told: null },
      initial: "open",
      states: {
        open: { on: { chat: "noting" } },
        noting: { invoke: { src: "note", input: { actor: "room-7", input: "ada" }, onDone: "saying" } },
        saying: {
          invoke: {
            src: "say",
            input: { actor: "room-7", input: { text: "hello" } },
            onDone: { target: "end", actions: assign({ told: ({ event }) => event.output }) },
          },
        },
        end: { type: "final" },
      },
      output: ({ context }) => context,
    }),
  });
  let commits = 1;
  for (let commit = 0; commit < commits; commit += 1) {
    for (const written of [false, true]) {
      const host = new TestHost({
        agents: [telling, room],
        commitFaults: commit === 0 ? [] : [{ commit, kind: "crash", written }],
      });
      host.runtime.process("telling", chat).catch(() => {});
      await host.environment.advance(5_000);
      if (host.crashed) await host.restart();
      await host.ask("telling", chat);
      await host.environment.advance(5_000);
      if (commit === 0) commits = host.commits;
      const { runs } = await host.runtime.runs({ limit: 9, agent: "room" });
      const [run] = runs;
      const told = await host.events(run?.run_id ?? "");
      expect(textsOf(told)).toEqual(["hello ada;"]);
      expect((await host.events(asked)).at(-1)).toMatchObject({
        output: { told: { runId: run?.run_id, requestId: ofType(told, "RequestStarted")[0]?.request_id } },
      });
    }
  }
});
