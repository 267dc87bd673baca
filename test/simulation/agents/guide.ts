import { defineTool } from "troupe";
import type { Agent, Model } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { Prompt, ScriptStep } from "troupe/llm";
import { z } from "zod";
import type { Outside } from "../../laws/agents.ts";

/** The name of the agent, and of the message that steers it. */
export const GUIDE = "guide";
export const HINT = "steer";

/**
 * An agent that is a language model. An input `100 2` makes it call its tool twice, with the numbers from 100 on; then it
 * answers with the list of everything that it was told since, the input first.
 */
export function createGuide(outside: Outside): Agent {
  const look = defineTool({
    name: "look",
    description: "Looks something up.",
    input: z.object({ program: z.number() }),
    effect: "idempotent",
    async run({ program }) {
      outside.note(`safe ${program}`);
      await new Promise<void>((resolve) => {
        outside.macrotask(resolve);
      });
      return program;
    },
  });
  const scripted = scriptedModel(toAnswer);
  const model: Model = {
    name: GUIDE,
    async *generate(input, context) {
      for await (const part of scripted.generate(input, context)) {
        await new Promise<void>((resolve) => {
          outside.macrotask(resolve);
        });
        yield part;
      }
    },
  };
  return llmAgent({
    name: GUIDE,
    purpose: "Takes hints while it works.",
    instructions: "",
    model,
    tools: [look],
  }) as Agent;
}

function toAnswer({ messages }: Prompt): ScriptStep {
  const newest = messages.slice(messages.findLastIndex(isInput));
  const [first = 0, calls = 0] = (newest[0]?.content ?? "").split(" ").map(Number);
  const called = newest.filter(({ role }) => role === "tool").length;
  if (called < calls) return { toolCalls: [{ name: "look", input: { program: first + called } }] };
  const told = newest.filter(({ role }) => role === "user").map(({ content }) => content);
  return { text: JSON.stringify(told) };
}

function isInput({ role, content }: Prompt["messages"][number]): boolean {
  return role === "user" && /^\d+ \d+$/.test(content);
}
