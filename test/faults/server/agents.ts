import { setImmediate } from "node:timers/promises";
import { AgentError, defineAgent, defineTool, operation } from "troupe";
import type { Agent, Turn } from "troupe";
import { z } from "zod";
import { createActorAgents } from "./actor-agents.ts";
import { createMachineAgent } from "./machine-agent.ts";
import { createModel } from "./model.ts";
import type { OutsideEffect } from "./outside.ts";
import type { OutsideServices } from "./services.ts";

/** The names of the agents; each exercises one thing that a crash could break. */
export const agentNames = [
  "speaker",
  "worker",
  "sleeper",
  "asker",
  "parent",
  "thinker",
  "publisher",
  "counter",
  "gambler",
  "machine",
  "visitor",
  "listener",
  "planner",
  "talker",
  "collector",
] as const;

/** The bytes of the artifact that the publisher makes for a request. */
export function artifactText(requestId: string): string {
  return `${requestId} `.repeat(200);
}

/** Creates the agents that are killed in the middle of their work. */
export function createAgents(services: OutsideServices): Agent[] {
  const { outside, reached } = services;
  const touch = async (deed: OutsideEffect): Promise<string> => {
    reached("between call and effect");
    await setImmediate();
    outside.act(deed);
    reached("after effect, before its result");
    await setImmediate();
    return deed.key;
  };
  const toTool = (kind: "unsafe" | "idempotent") =>
    defineTool({
      name: `${kind}_tool`,
      description: `Does something ${kind}.`,
      input: z.object({ key: z.string() }),
      output: z.string(),
      effect: kind,
      // Some calls wait for a slot when the server is killed.
      concurrency: 2,
      rate: { limit: 200, perMs: 1_000 },
      run: ({ key }, turn) => touch({ kind, key, requestId: turn.request.requestId }),
    });
  const tools = { unsafe: toTool("unsafe"), idempotent: toTool("idempotent") };

  const use = (turn: Turn, kind: "unsafe" | "idempotent", name: string): Promise<string> =>
    settled(turn.tool(tools[kind], { key: `${turn.request.requestId}/${name}` }, { timeoutMs: 3_600_000 }));
  const perform = (turn: Turn, kind: "unsafe" | "idempotent", name: string): Promise<string> => {
    const { requestId } = turn.request;
    const key = `${requestId}/${name}`;
    return settled(
      turn.effect(name, ({ callId }) => touch({ kind, key, requestId, callId }), { effect: kind }),
    );
  };

  const speaker = defineAgent({
    name: "speaker",
    purpose: "Says many texts.",
    async chat(input, turn) {
      for (let index = 0; index < 40; index += 1) {
        await setImmediate();
        if (index % 8 === 0) await turn.text(`${input} ${index}\n`);
        else void turn.text(`${input} ${index}\n`);
      }
    },
  });

  const worker = defineAgent({
    name: "worker",
    purpose: "Uses tools, one after the other and side by side.",
    tools: [tools.unsafe, tools.idempotent],
    async chat(_, turn) {
      await turn.text(`${await use(turn, "unsafe", "t1")}\n`);
      const both = await Promise.all([use(turn, "idempotent", "t2"), use(turn, "unsafe", "t3")]);
      await turn.text(`${both.join(" ")}\n`);
      await turn.text(`${await perform(turn, "unsafe", "e1")} ${await perform(turn, "idempotent", "e2")}\n`);
    },
  });

  const sleeper = defineAgent({
    name: "sleeper",
    purpose: "Sleeps between texts.",
    async chat(_, turn) {
      for (let index = 1; index <= 6; index += 1) {
        await turn.sleep(index * 7);
        await turn.text(`${index}\n`);
      }
    },
  });

  const asker = defineAgent({
    name: "asker",
    purpose: "Asks twice, and then two things at once.",
    async chat(_, turn) {
      const { one } = await turn.waitForInput({ one: "First?" });
      await turn.text(`${one as string}\n`);
      const { two } = await turn.waitForInput(z.object({ two: z.string() }));
      await turn.text(`${two} ${await perform(turn, "unsafe", "answered")}\n`);
      const [a, b] = await turn.all([
        (t) => t.waitForInput({ three: "Third?" }),
        async (t) => {
          await t.sleep(5);
          return t.waitForInput({ four: "Fourth?" });
        },
      ]);
      await turn.text(`${a["three"] as string} ${b["four"] as string}\n`);
    },
  });

  const child = defineAgent({
    name: "child",
    purpose: "Does a part of something.",
    operations: {
      part: operation({
        description: "Does one part.",
        input: z.object({ part: z.string() }),
        output: z.object({ made: z.string() }),
        async run({ part }, turn) {
          await turn.text(`part ${part}\n`);
          await turn.sleep(10);
          return { made: await use(turn, "unsafe", part) };
        },
      }),
    },
  });

  const parent = defineAgent({
    name: "parent",
    purpose: "Has others do things, one after the other and side by side.",
    async chat(_, turn) {
      const { made } = await turn.call(child, "part", { part: "a" });
      await turn.text(`${made}\n`);
      const parts = await turn.all([
        (t) => t.call(child, "part", { part: "b" }),
        async (t) => {
          await t.text("between\n");
          await t.call(child, "part", { part: "c" });
          return t.call(child, "part", { part: "d" });
        },
      ]);
      await turn.text(`${parts.map(({ made }) => made).join(" ")}\n`);
    },
  });

  const thinker = defineAgent({
    name: "thinker",
    purpose: "Asks a model twice.",
    async chat(_, turn) {
      const model = createModel(services);
      const { requestId } = turn.request;
      for (const question of ["first", "second"]) {
        const answer = await settled(
          turn.complete({ model, input: { requestId, key: `${requestId}/${question}` } }) as Promise<string>,
        );
        await turn.text(`${answer}\n`);
      }
    },
  });

  const publisher = defineAgent({
    name: "publisher",
    purpose: "Publishes two files.",
    async chat(_, turn) {
      for (const name of ["one.txt", "two.txt"]) {
        const { url } = await turn.artifact({
          name,
          mimeType: "text/plain",
          data: artifactText(turn.request.requestId),
        });
        await turn.text(`${url}\n`);
      }
    },
  });

  const counter = defineAgent({
    name: "counter",
    purpose: "Remembers how often it was asked in this run.",
    async chat(_, turn) {
      const count = ((turn.memory.get() as number | undefined) ?? 0) + 1;
      await turn.sleep(5);
      turn.memory.set(count);
      return `${count}`;
    },
  });

  const gambler = defineAgent({
    name: "gambler",
    purpose: "Goes by chance and by the clock.",
    async chat(_, turn) {
      for (let round = 0; round < 8; round += 1) {
        if (turn.random() < 0.5) await turn.text(`${turn.now()}\n`);
        else await turn.sleep(Math.floor(turn.random() * 10));
        await setImmediate();
      }
    },
  });

  return [
    speaker,
    worker,
    sleeper,
    asker,
    parent,
    thinker,
    publisher,
    counter,
    gambler,
    createMachineAgent(touch),
    ...createActorAgents(child),
  ];
}

/** A result, or the error of the call; the log shows which. */
async function settled(call: Promise<string>): Promise<string> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof AgentError && error.callId !== undefined) return `failed: ${error.message}`;
    throw error;
  }
}
