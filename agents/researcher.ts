import { llmAgent, modelFromEnv, scriptedModel } from "troupe/llm";
import type { Prompt, ScriptStep } from "troupe/llm";
import { summarizer } from "./summarizer.ts";

/** Collects facts about a subject and lets another agent summarize them. */
export const researcher = llmAgent({
  name: "researcher",
  purpose: "Researches a subject and reports a summary.",
  instructions:
    "Write down what you know of the subject, let the summarizer shorten it, and answer with the summary.",
  model: modelFromEnv(process.env, scriptedModel(script)),
  agents: [summarizer],
});

function script({ messages }: Prompt): ScriptStep {
  const subject = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const last = messages.at(-1);
  if (last?.role === "tool") return { text: [`About ${subject}: ${last.content}`] };
  const findings = [
    `The first question about ${subject} is where it comes from.`,
    `The second question is what it is used for.`,
    `Many questions about ${subject} are still open.`,
  ].join(" ");
  return { toolCalls: [{ name: "summarizer", input: { input: findings } }] };
}
