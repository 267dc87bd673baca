import { llmAgent, modelFromEnv, scriptedModel } from "troupe/llm";

/** Shortens a text to its gist; without a model of its own, to its first sentence. */
export const summarizer = llmAgent({
  name: "summarizer",
  purpose: "Shortens a text to one sentence.",
  instructions: "Shorten what you are given to one sentence, and say nothing else.",
  model: modelFromEnv(
    process.env,
    scriptedModel(({ messages }) => {
      const text = messages.at(-1)?.content.trim() ?? "";
      const [sentence] = /^.*?[.!?](?=\s|$)/s.exec(text) ?? [text];
      return { text: [sentence] };
    }),
  ),
});
