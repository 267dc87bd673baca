import { AgentError, agentActor, askActor, defineAgent, defineTool, fromMachine, toolActor } from "troupe";
import type { Agent, RetryOptions, Tool } from "troupe";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { assign, setup } from "xstate";
import type { PromiseActorLogic } from "xstate";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { atEveryCrash } from "../calls/crashes.ts";
import { createShaky } from "../calls/shaky.ts";
import { asked, chat, TestHost } from "../test-host.ts";

/** A tool that fails a number of times and says with which key it was called. */
function unlucky(failures: number, options: { readonly retry?: RetryOptions } = {}): Tool<object, string> {
  let calls = 0;
  return defineTool({
    name: "unlucky",
    description: "Fails at first.",
    input: z.object({}),
    effect: "idempotent",
    ...options,
    async run(_input, turn) {
      calls += 1;
      await turn.text(`${turn.callId} `);
      if (calls <= failures) throw new Error(`no ${calls}`);
      return "yes";
    },
  });
}

/** Invokes an actor beside a clock, and ends with its result or error. */
function invoking(actor: PromiseActorLogic<unknown, never>, input: unknown, leaveMs = 60_000): Agent {
  const machine = setup({
    types: { context: {} as { readonly got: unknown } },
    actors: { deed: actor as PromiseActorLogic<unknown> },
  }).createMachine({
    context: { got: null },
    initial: "open",
    states: {
      open: { on: { chat: "doing" } },
      doing: {
        invoke: {
          src: "deed",
          input: () => input,
          onDone: { target: "end", actions: assign({ got: ({ event }) => event.output }) },
          onError: {
            target: "end",
            actions: assign({
              got: ({ event: { error } }) => [(error as AgentError).code, (error as AgentError).message],
            }),
          },
        },
        after: { [leaveMs]: "left" },
      },
      // Shows that nothing of the call runs on.
      left: { after: { 1_000: "end" } },
      end: { type: "final" },
    },
    output: ({ context }) => context,
  });
  return fromMachine({ name: "machine", purpose: "Calls again.", machine });
}

const attemptsOf = (events: readonly Event[]): readonly unknown[] =>
  ofType(events, "ToolCall").map(({ tool_call_id: id, retry_of: first }) => [id, first]);

test("a failed call of an actor is made again, each attempt a call of its own with one key", async () => {
  const retry = { attempts: 3, backoffMs: 1_000 };
  const host = new TestHost({ agents: [invoking(toolActor(unlucky(2), { retry }) as never, {})] });
  await host.ask("machine", chat);
  await host.environment.advance(999);
  expect(attemptsOf(await host.events(asked))).toHaveLength(1);
  await host.environment.advance(2_001);
  const events = await host.events(asked);
  expect(attemptsOf(events)).toEqual([
    ["c1.2:0.1", undefined],
    ["c1.2:0.3", "c1.2:0.1"],
    ["c1.2:0.5", "c1.2:0.1"],
  ]);
  expect(ofType(events, "ToolError").map(({ code, content }) => [code, content])).toEqual([
    ["tool_error", "no 1"],
    ["tool_error", "no 2"],
  ]);
  expect(new Set(ofType(events, "ToolTextOutput").map(({ content }) => content))).toEqual(
    new Set(["run_000000000000000000001.c1.2_0.1 "]),
  );
  expect(ofType(events, "StateChanged").map(({ cause }) => cause)).toEqual(["chat", "done deed"]);
  expect(events.at(-1)).toMatchObject({ output: { got: "yes" } });
  expect(host.environment.timers).toBe(0);
});

test("the retry of a tool's definition holds for its actor, and the last failure is the event error", async () => {
  const tool = unlucky(9, { retry: { attempts: 2, backoffMs: 0 } });
  const host = new TestHost({ agents: [invoking(toolActor(tool) as never, {})] });
  await host.ask("machine", chat);
  const events = await host.events(asked);
  expect(attemptsOf(events)).toHaveLength(2);
  expect(ofType(events, "StateChanged").at(-1)).toMatchObject({ cause: "error deed" });
  expect(events.at(-1)).toMatchObject({ output: { got: ["tool_error", "no 2"] } });
});

test("an ask of an actor is retried as a request of its own", async () => {
  const shaky = createShaky(2);
  const retry = { attempts: 3, backoffMs: 10, on: ["tool_error"] } as const;
  const asker = invoking(askActor(shaky, "chat", { retry }) as never, { actor: "one", input: { input: "" } });
  const host = new TestHost({ agents: [asker, shaky] });
  await host.ask("machine", chat);
  await host.environment.advance(100);
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ output: { got: { output: "yes" } } });
  expect(new Set(ofType(events, "ToolCall").map(({ callee }) => callee?.request_id)).size).toBe(3);
});

/** Fails each time, so that a crash does not change which attempts fail. */
const failing = (): Agent =>
  defineAgent({
    name: "failing",
    purpose: "Fails after a while.",
    async chat(input, turn) {
      await turn.text(`try ${input}`);
      await turn.sleep(50);
      throw new Error("no");
    },
  });

test("a retried call of a machine is the same after a crash at any commit", async () => {
  const retry = { attempts: 3, backoffMs: 100, on: ["tool_error"] } as const;
  const agents = [invoking(agentActor(failing(), "chat", { retry }) as never, { input: "it" })];
  const runs = await atEveryCrash({ agents, to: "machine", stepMs: 50, steps: 24 });
  expect(runs.length).toBeGreaterThan(20);
  for (const { place, events } of runs) {
    const first = ofType(events, "ToolCall").filter(({ attempt = 1 }) => attempt === 1);
    expect({
      place,
      attempts: attemptsOf(first),
      errors: ofType(events, "ToolError").map(({ tool_call_id: id, code }) => [id, code]),
      texts: ofType(events, "TextOutput").length,
      causes: ofType(events, "StateChanged").map(({ cause }) => cause),
      end: events.at(-1),
    }).toMatchObject({
      place,
      attempts: [
        ["c1.2:0.1", undefined],
        ["c1.2:0.3", "c1.2:0.1"],
        ["c1.2:0.5", "c1.2:0.1"],
      ],
      errors: [
        ["c1.2:0.1", "tool_error"],
        ["c1.2:0.3", "tool_error"],
        ["c1.2:0.5", "tool_error"],
      ],
      texts: 3,
      causes: ["chat", "error deed"],
      end: { output: { got: ["tool_error", "no"] } },
    });
  }
});

test("a state that is left ends the attempt or the pause that runs, also after a crash at any commit", async () => {
  for (const [leaveMs, attempts, codes] of [
    [25, 1, ["canceled"]],
    [100, 1, ["tool_error"]],
    [175, 2, ["tool_error", "canceled"]],
  ] as const) {
    const retry = { attempts: 5, backoffMs: 100, on: ["tool_error"] } as const;
    const agents = [invoking(agentActor(failing(), "chat", { retry }) as never, { input: "it" }, leaveMs)];
    for (const { place, events } of await atEveryCrash({ agents, to: "machine", stepMs: 25, steps: 60 })) {
      const calls = ofType(events, "ToolCall").filter(({ attempt = 1 }) => attempt === 1);
      expect({
        place: `left after ${leaveMs} ms, ${place}`,
        calls: calls.length,
        codes: ofType(events, "ToolError").map(({ code }) => code),
        causes: ofType(events, "StateChanged").map(({ cause }) => cause),
        end: events.at(-1),
      }).toMatchObject({
        calls: attempts,
        codes,
        causes: ["chat", `after ${leaveMs}`, "after 1000"],
        end: { type: "RequestCompleted", finish_reason: "success", output: { got: null } },
      });
    }
  }
});

test("an actor with an impossible retry is refused at the definition", () => {
  const retry = { attempts: 0 };
  expect(() => toolActor(unlucky(0), { retry })).toThrow(
    "the retry.attempts of toolActor of unlucky is 0; use a whole number from 1 to 100",
  );
  expect(() => agentActor(failing(), "chat", { retry })).toThrow("agentActor of failing");
  expect(() => askActor(failing(), "chat", { retry })).toThrow(AgentError);
});
