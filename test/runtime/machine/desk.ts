import { agentActor, defineTool } from "troupe";
import type { Agent } from "troupe";
import { setup } from "xstate";
import { z } from "zod";

/** A tool for the inspected agents. */
export const adder = defineTool({
  name: "adder",
  description: "Adds.",
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
});

/** A machine that calls an agent when it is asked, and ends with it. */
export const createDesk = (member: Agent) =>
  setup({ actors: { member: agentActor(member, "chat") } }).createMachine({
    id: "desk",
    initial: "open",
    states: {
      open: { on: { chat: "working" } },
      working: { invoke: { id: "help", src: "member", input: { input: "hello" }, onDone: "end" } },
      end: { type: "final" },
    },
  });
