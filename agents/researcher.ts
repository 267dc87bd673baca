import { llmAgent, modelFromEnv, scriptedModel } from "troupe/llm";
import type { Prompt, ScriptStep } from "troupe/llm";
import { summarizer } from "./summarizer.ts";

/** Writes down what there is to know about a subject, and has it shortened. */
export const researcher = llmAgent({
  name: "researcher",
  purpose: "Finds out about a subject and reports the gist of it.",
  instructions:
    "Write down what you know of the subject, have the summarizer shorten it, and answer with what it made of it.",
  model: modelFromEnv(process.env, scriptedModel(script)),
  agents: [summarizer],
});

function script({ messages }: Prompt): ScriptStep {
  const subject = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const last = messages.at(-1);
  if (last?.role === "tool") return { text: [`About ${subject}: ${last.content}`] };
  const findings = [
    `What people ask first about ${subject} is where it comes from.`,
    `What they ask next is what it is good for.`,
    `Nobody has asked everything about ${subject} yet.`,
  ].join(" ");
  return { toolCalls: [{ name: "summarizer", input: { input: findings } }] };
}
