import { llmAgent, modelFromEnv, scriptedModel } from "troupe/llm";

/** Summarizes a text in one sentence. The script returns its first sentence. */
export const summarizer = llmAgent({
  name: "summarizer",
  purpose: "Summarizes a text in one sentence.",
  instructions: "Summarize the text in one sentence. Answer only with that sentence.",
  model: modelFromEnv(
    process.env,
    scriptedModel(({ messages }) => {
      const text = messages.at(-1)?.content.trim() ?? "";
      const [sentence] = /^.*?[.!?](?=\s|$)/s.exec(text) ?? [text];
      return { text: [sentence] };
    }),
  ),
});
