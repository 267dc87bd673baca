import { AgentError, defineAgent, defineTool } from "troupe";
import type { Agent, RetryOptions, Tool } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { asked, chat, TestHost } from "../test-host.ts";
import { atEveryCrash } from "./crashes.ts";
import { outcomeOf } from "./outcome.ts";
import { createShaky } from "./shaky.ts";

const nothing = z.object({});

/** A tool that fails a number of times, by its own count in the log, and says with which keys it was called. */
function flaky(failures: number, effect: "idempotent" | "unsafe" = "idempotent"): Tool<object, string> {
  let calls = 0;
  return defineTool({
    name: "flaky",
    description: "Fails at first.",
    input: nothing,
    effect,
    async run(_input, turn) {
      calls += 1;
      const made = calls;
      await turn.text(`${turn.callId} `);
      if (made <= failures) throw new Error(`no ${made}`);
      return `yes ${made}`;
    },
  });
}

function caller(tool: Tool<object>, retry: RetryOptions): Agent {
  return defineAgent({
    name: "caller",
    purpose: "Calls again.",
    async chat(_input, turn) {
      const call = turn.tool(tool, {}, { retry });
      await turn.text(await outcomeOf(call));
      await turn.text(`as text: ${await call.text().catch(() => "none")}`);
    },
  });
}

test("a failed call is made again after pauses that double, each attempt a call of its own with one key", async () => {
  const host = new TestHost({ agents: [caller(flaky(2), { attempts: 3, backoffMs: 100 })] });
  await host.ask("caller", chat);
  await host.environment.advance(99);
  expect(ofType(await host.events(asked), "ToolCall")).toHaveLength(1);
  await host.environment.advance(1);
  expect(ofType(await host.events(asked), "ToolCall")).toHaveLength(2);
  await host.environment.advance(200);
  const events = await host.events(asked);
  expect(ofType(events, "ToolCall").map(({ tool_call_id: id, retry_of: first }) => [id, first])).toEqual([
    ["c1.1:0.1", undefined],
    ["c1.1:0.3", "c1.1:0.1"],
    ["c1.1:0.5", "c1.1:0.1"],
  ]);
  expect(ofType(events, "ToolError").map(({ content }) => content)).toEqual(["no 1", "no 2"]);
  const keys = ofType(events, "ToolTextOutput").map(({ content }) => content);
  expect(new Set(keys)).toEqual(new Set(["run_000000000000000000001.c1.1_0.1 "]));
  expect(textsOf(events)).toEqual(['result "yes 3"', "as text: yes 3"]);
  expect(host.environment.timers).toBe(0);
});

test("the last failure is the error of the call", async () => {
  const host = new TestHost({ agents: [caller(flaky(9), { attempts: 2, backoffMs: 0 })] });
  await host.ask("caller", chat);
  const error = {
    code: "tool_error",
    agent: "flaky",
    operation: "flaky",
    callId: "c1.1:0.2",
    message: "no 2",
  };
  expect(textsOf(await host.events(asked))).toEqual([JSON.stringify(error), "as text: none"]);
});

test("an unsafe tool and an agent are called again only if they surely did nothing, unless the code says more", async () => {
  const attemptsOf = async (agent: Agent): Promise<number> => {
    const host = new TestHost({ agents: [agent] });
    await host.ask("caller", chat);
    return ofType(await host.events(asked), "ToolCall").length;
  };
  const retry = { attempts: 2, backoffMs: 0 };
  expect(await attemptsOf(caller(flaky(9, "unsafe"), retry))).toBe(1);
  expect(await attemptsOf(caller(flaky(9, "unsafe"), { ...retry, on: ["tool_error"] }))).toBe(2);
  expect(await attemptsOf(caller(flaky(9), { ...retry, on: ["timeout"] }))).toBe(1);
  const failing = defineAgent({
    name: "failing",
    purpose: "Fails.",
    chat() {
      throw new Error("no");
    },
  });
  const asker = defineAgent({
    name: "caller",
    purpose: "Calls an agent.",
    chat: (_input, turn) => outcomeOf(turn.call(failing, "chat", { input: "" }, { retry })),
  });
  expect(await attemptsOf(asker)).toBe(1);
});

test("a wrong input is never sent again", async () => {
  const strict = defineTool({
    name: "strict",
    description: "Wants a number.",
    input: z.object({ n: z.number() }),
    effect: "idempotent",
    run: () => 1,
  });
  const agent = caller(strict, { attempts: 3, backoffMs: 0 });
  const host = new TestHost({ agents: [agent] });
  await host.ask("caller", chat);
  const events = await host.events(asked);
  expect(ofType(events, "ToolError").map(({ code }) => code)).toEqual(["invalid_input"]);
});

test("each attempt has its own deadline, and a timeout is retried", async () => {
  const slow = defineTool({
    name: "slow",
    description: "Never ends.",
    input: nothing,
    effect: "idempotent",
    timeoutMs: 100,
    retry: { attempts: 3, backoffMs: 50 },
    run: () => new Promise<null>(() => {}),
  });
  const agent = defineAgent({
    name: "caller",
    purpose: "Calls a tool that has options of its own.",
    chat: (_input, turn) => outcomeOf(turn.tool(slow, {})),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("caller", chat);
  await host.environment.advance(100 + 50 + 100 + 100 + 100);
  const events = await host.events(asked);
  expect(ofType(events, "ToolError").map(({ code }) => code)).toEqual(["timeout", "timeout", "timeout"]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
});

test("an effect is retried with one key and a number that grows", async () => {
  const seen: unknown[] = [];
  const agent = defineAgent({
    name: "caller",
    purpose: "Has an effect.",
    chat: (_input, turn) =>
      outcomeOf(
        turn.effect(
          "pay",
          ({ callId, attempt }) => {
            seen.push([callId, attempt]);
            if (seen.length < 3) throw new Error("no");
            return "paid";
          },
          { effect: "idempotent", retry: { attempts: 5, backoffMs: 0 } },
        ),
      ),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("caller", chat);
  expect(seen).toEqual([
    ["run_000000000000000000001.c1.1_0.1", 1],
    ["run_000000000000000000001.c1.1_0.1", 2],
    ["run_000000000000000000001.c1.1_0.1", 3],
  ]);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: 'result "paid"' });
});

/** Retries beside other work, and follows the events of all attempts. */
const busy = defineAgent({
  name: "busy",
  purpose: "Does more than one thing.",
  async chat(_input, turn) {
    const unlucky = defineAgent({
      name: "unlucky",
      purpose: "Fails twice in each run.",
      async chat(input, own) {
        await own.text(`try ${input}`);
        if (own.random() >= 0) throw new Error("bad luck");
      },
    });
    const heard: string[] = [];
    const retry = { attempts: 3, backoffMs: 10, on: ["tool_error"] } as const;
    const follow = (async (): Promise<string> => {
      try {
        for await (const { type } of turn.call(unlucky, "chat", { input: "it" }, { retry })) heard.push(type);
      } catch (error) {
        heard.push((error as AgentError).code);
      }
      return heard.join(" ");
    })();
    await turn.text("meanwhile");
    await turn.sleep(15);
    await turn.text("still");
    await turn.text(await follow);
  },
});

test("a retried call runs beside other work, and its events are those of all attempts, also after any crash", async () => {
  for (const { place, events } of await atEveryCrash({ agents: [busy], to: "busy", stepMs: 5, steps: 20 })) {
    expect({ place, texts: textsOf(events), end: events.at(-1) }).toMatchObject({
      place,
      texts: ["meanwhile", "still", "TextOutput TextOutput TextOutput tool_error"],
      end: { finish_reason: "success" },
    });
    expect(ofType(events, "ToolError")).toHaveLength(3);
  }
});

/** Cancels a retried call after a time. */
function impatient(afterMs: number): Agent {
  return defineAgent({
    name: "impatient",
    purpose: "Gives up.",
    async chat(_input, turn) {
      const failing = defineTool({
        name: "failing",
        description: "Fails after a while.",
        input: nothing,
        effect: "idempotent",
        async run(_nothing, own) {
          await own.sleep(100);
          throw new Error("no");
        },
      });
      const call = turn.tool(failing, {}, { retry: { attempts: 5, backoffMs: 100 } });
      await turn.sleep(afterMs);
      call.cancel();
      call.cancel();
      await turn.text(await outcomeOf(call));
    },
  });
}

test(
  "a cancel ends the attempt or the pause that runs, and no attempt follows, also after any crash",
  { tags: "long" },
  async () => {
    for (const [afterMs, attempts, callId] of [
      [50, 1, "c1.1:0.1"],
      [150, 1, "c1.1:0.1"],
      [250, 2, "c1.1:0.3"],
    ] as const) {
      const agents = [impatient(afterMs)];
      const message = "failing was canceled";
      const said = JSON.stringify({
        code: "canceled",
        agent: "failing",
        operation: "failing",
        callId,
        message,
      });
      for (const { place, events } of await atEveryCrash({
        agents,
        to: "impatient",
        stepMs: 50,
        steps: 12,
      })) {
        expect({ place, texts: textsOf(events) }).toEqual({ place, texts: [said] });
        expect(ofType(events, "ToolCall").filter(({ attempt = 1 }) => attempt === 1)).toHaveLength(attempts);
        expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
      }
    }
  },
);

test("a long pause is passivated, and the next attempt is made on time", async () => {
  const host = new TestHost({ agents: [caller(flaky(1), { attempts: 2, backoffMs: 60_000 })] });
  await host.ask("caller", chat);
  await host.restart();
  await host.environment.advance(59_000);
  expect(ofType(await host.events(asked), "ToolCall")).toHaveLength(1);
  await host.environment.advance(1_000);
  expect(textsOf(await host.events(asked))[0]).toBe('result "yes 2"');
});

test.each([
  [
    { attempts: 0 },
    /the retry.attempts of tool flaky in agent caller is 0; use a whole number from 1 to 100/,
  ],
  [{ attempts: 1.5 }, /retry.attempts .* is 1.5/],
  [{ attempts: 2, backoffMs: -1 }, /the retry.backoffMs of tool flaky in agent caller is -1/],
  [
    { attempts: 2, on: ["canceled"] },
    /the retry.on of tool flaky in agent caller is \["canceled"\]; use a list of/,
  ],
  [{ attempts: 2, on: "timeout" }, /the retry.on/],
  [3, /the retry of tool flaky in agent caller is 3/],
])("the wrong retry %j is an error that names the call and the option", async (retry, message) => {
  const host = new TestHost({ agents: [caller(flaky(0), retry as RetryOptions)] });
  await host.ask("caller", chat);
  const end = (await host.events(asked)).at(-1);
  expect(end).toMatchObject({ finish_reason: "error" });
  expect(end?.type === "RequestCompleted" && end.error?.message).toMatch(message);
  const run = (): number => 1;
  expect(() =>
    defineTool({ name: "odd", description: "", input: nothing, retry: retry as RetryOptions, run }),
  ).toThrow(AgentError);
});

test("an ask is retried as a request of its own", async () => {
  const shaky = createShaky(2);
  const retry = { attempts: 3, backoffMs: 10, on: ["tool_error"] } as const;
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks again.",
    chat: (_input, turn) => outcomeOf(turn.ask(turn.actor(shaky, "one"), "chat", { input: "" }, { retry })),
  });
  const host = new TestHost({ agents: [asker, shaky] });
  await host.ask("asker", chat);
  await host.environment.advance(100);
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ result: 'result {"output":"yes"}' });
  const calls = ofType(events, "ToolCall");
  expect(calls.map(({ retry_of: first }) => first)).toEqual([undefined, "c1.1:0.1", "c1.1:0.1"]);
  expect(new Set(calls.map(({ callee }) => callee?.request_id)).size).toBe(3);
});
