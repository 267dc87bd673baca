import { defineAgent } from "troupe";
import type { Call } from "troupe";
import { expect, test } from "vitest";
import { TestHost } from "../test-host.ts";

const counter = defineAgent({
  name: "counter",
  purpose: "Counts to three, the second half by another.",
  async chat(_input, turn) {
    await turn.text("1");
    await turn.sleep(10);
    await turn.text("2");
    await turn.call(finisher, "chat", { input: "" });
  },
});

const finisher = defineAgent({
  name: "finisher",
  purpose: "Says the last number.",
  async chat(_input, turn) {
    await turn.text("3");
  },
});

/** Sends a text for each event that it iterates, with a call of its own in between. */
const reporter = defineAgent({
  name: "reporter",
  purpose: "Reports what the counter does.",
  async chat(_input, turn) {
    const call = turn.call(counter, "chat", { input: "" });
    for await (const event of call) {
      await turn.text(`${event.agent} ${event.type}`);
      if (event.type === "TextOutput") await turn.call(finisher, "chat", { input: event.content });
    }
    const { output } = await call;
    await turn.text(`so: ${output}`);
  },
});

const said = [
  "counter TextOutput",
  "counter TextOutput",
  "counter ToolCall",
  "finisher TextOutput",
  "counter ToolResult",
  "so: 12",
];

test("iterating a call gives the events under it as they are logged, then the end", async () => {
  const host = new TestHost({ agents: [reporter] });
  const requestId = await ask(host, "reporter");
  expect(await textsOf(host, requestId)).toEqual(said);
});

test("the events have the same order when the turn is continued, wherever it was cut", async () => {
  const whole = new TestHost({ agents: [reporter] });
  await ask(whole, "reporter");

  for (let commit = 2; commit <= whole.commits; commit += 1) {
    for (const written of [true, false]) {
      const host = new TestHost({ agents: [reporter], commitFaults: [{ commit, kind: "crash", written }] });
      const requestId = await ask(host, "reporter");
      await host.restart();
      await host.environment.advance(10);
      expect(await textsOf(host, requestId), `cut at commit ${commit}`).toEqual(said);
      expect((await host.events(requestId)).at(-1)).toMatchObject({ finish_reason: "success" });
    }
  }
});

test("iterating a call gives the end of each canceled call under it, wherever the turn was cut", async () => {
  const worker = defineAgent({
    name: "worker",
    purpose: "Does one thing, and another that never ends.",
    async chat(_input, turn) {
      await turn.effect("one", () => 1);
      await turn.effect("two", () => new Promise<null>(() => {}));
    },
  });
  const leader = defineAgent({
    name: "leader",
    purpose: "Watches the worker for a while.",
    async chat(_input, turn) {
      let seen = 0;
      for await (const event of turn.call(worker, "chat", { input: "" })) {
        await turn.text(event.type);
        seen += 1;
        if (seen === 2) break;
      }
    },
  });
  const witness = defineAgent({
    name: "witness",
    purpose: "Says what it hears of the leader.",
    async chat(_input, turn) {
      for await (const event of turn.call(leader, "chat", { input: "" })) {
        await turn.text(`${event.type} `);
      }
    },
  });
  const agents = [witness];
  const whole = new TestHost({ agents });
  await ask(whole, "witness");

  for (let commit = 2; commit <= whole.commits; commit += 1) {
    const host = new TestHost({ agents, commitFaults: [{ commit, kind: "crash", written: true }] });
    const requestId = await ask(host, "witness");
    await host.restart();
    const events = await host.events(requestId);
    const under = events.filter(({ parent_call_id: parent }) => parent?.startsWith("c1.1") === true);
    const heard = under.map(({ type }) => `${type} `);
    expect(events.at(-1), `cut at commit ${commit}`).toMatchObject({ result: heard.join("") });
  }
});

test("when the call fails, the iteration throws the same error", async () => {
  const failing = defineAgent({
    name: "failing",
    purpose: "Fails.",
    async chat(_input, turn) {
      await turn.text("soon");
      throw new Error("no more");
    },
  });
  const host = new TestHost({
    agents: [
      defineAgent({
        name: "caller",
        purpose: "Calls it.",
        async chat(_input, turn) {
          try {
            for await (const event of turn.call(failing, "chat", { input: "" })) await turn.text(event.type);
          } catch (error) {
            await turn.text(`failed: ${(error as Error).message}`);
          }
        },
      }),
    ],
  });
  const requestId = await ask(host, "caller");
  expect(await textsOf(host, requestId)).toEqual(["TextOutput", "failed: no more"]);
});

test("leaving the loop does not affect the call; its result can still be awaited", async () => {
  const host = new TestHost({
    agents: [
      defineAgent({
        name: "impatient",
        purpose: "Looks at the first event only.",
        async chat(_input, turn) {
          const call = turn.call(counter, "chat", { input: "" });
          for await (const event of call) {
            await turn.text(event.type);
            break;
          }
          await turn.text((await call).output);
        },
      }),
    ],
  });
  const requestId = await ask(host, "impatient");
  expect(await textsOf(host, requestId)).toEqual(["TextOutput", "12"]);
});

test("iterating a call later than where it is made is refused", async () => {
  const host = new TestHost({
    agents: [
      defineAgent({
        name: "late",
        purpose: "Asks too late.",
        async chat(_input, turn) {
          const call: Call<unknown> = turn.call(counter, "chat", { input: "" });
          await call;
          for await (const event of call) await turn.text(event.type);
        },
      }),
    ],
  });
  const requestId = await ask(host, "late");
  expect((await host.events(requestId)).at(-1)).toMatchObject({
    finish_reason: "error",
    error: { code: "agent_error", message: expect.stringContaining("where it is made") as string },
  });
});

test("two calls iterated in parallel get the same order again", async () => {
  const both = defineAgent({
    name: "both",
    purpose: "Follows two calls in two branches.",
    async chat(_input, turn) {
      await turn.all(
        [1, 2].map((number) => async (t: typeof turn) => {
          for await (const event of t.call(counter, "chat", { input: "" }))
            await t.text(`${number} ${event.type}`);
        }),
      );
    },
  });
  const whole = new TestHost({ agents: [both] });
  const expected = (await textsOf(whole, await ask(whole, "both"))).toSorted();
  expect(expected).toHaveLength(10);
  for (let commit = 2; commit <= whole.commits; commit += 1) {
    const host = new TestHost({ agents: [both], commitFaults: [{ commit, kind: "crash", written: true }] });
    const requestId = await ask(host, "both");
    await host.restart();
    await host.environment.advance(10);
    expect((await textsOf(host, requestId)).toSorted(), `cut at commit ${commit}`).toEqual(expected);
  }
});

test("iterating inside an agent that calls itself ends with a clear error", async () => {
  const vain: ReturnType<typeof defineAgent> = defineAgent({
    name: "vain",
    purpose: "Asks itself.",
    async chat(input, turn) {
      const { output } = await turn.call(vain, "chat", { input });
      await turn.text(output);
    },
  });
  const host = new TestHost({ agents: [vain] });
  const requestId = await ask(host, "vain");
  const events = await host.events(requestId);
  expect(events.filter(({ type }) => type === "ToolCall")).toHaveLength(5);
  expect(events.find(({ type }) => type === "ToolError")).toMatchObject({
    depth: 4,
    code: "too_deep",
    content: "vain calls itself more than 4 deep",
  });
});

async function ask(host: TestHost, agent: string): Promise<string> {
  const { requestId } = await host.ask(agent, { type: "ChatRequest", input: "" });
  await host.environment.advance(10);
  return requestId;
}

async function textsOf(host: TestHost, requestId: string): Promise<readonly string[]> {
  const events = await host.events(requestId);
  return events.flatMap((event) => (event.type === "TextOutput" && event.depth === 0 ? [event.content] : []));
}
