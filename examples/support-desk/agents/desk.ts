import { fileURLToPath } from "node:url";
import { llmAgent, mcpTools, modelFromEnv, scriptedModel } from "troupe/llm";
import type { McpTools, Message, ScriptStep } from "troupe/llm";
import { recall, remember } from "./customer.ts";
import { refund } from "./refund.ts";

/** The tools of a program in `servers/`. */
function serverOf(name: string): McpTools {
  const file = fileURLToPath(new URL(`../servers/${name}.ts`, import.meta.url));
  return mcpTools({ command: process.execPath, args: [file] }, { name });
}

/** What the model says without a key: it looks the order up, reads the rules, refunds, and remembers that. */
const script = scriptedModel(({ messages }): ScriptStep | string => {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const [asked, name = "", order = ""] = /^(\w+): refund (\w+)$/.exec(messages[at]?.content ?? "") ?? [];
  if (asked === undefined)
    return "Without a model I only refund. Say who you are and which order: jim: refund A1";
  const results = messages.slice(at).filter(({ role }) => role === "tool");
  const last = results.at(-1)?.content ?? "";
  if (results.length === 0)
    return {
      toolCalls: [
        { name: "recall", input: { name } },
        { name: "get_order", input: { order } },
        { name: "search_articles", input: { about: "refunds" } },
      ],
    };
  if (results.length === 3) {
    const { cents } = JSON.parse(textOf(results, "get_order")) as { readonly cents: number };
    return { toolCalls: [{ name: "refund__start", input: { order, cents } }] };
  }
  const isRefunded = textOf(results, "refund__start").includes("true");
  const note = `${order} ${isRefunded ? "refunded" : "not refunded"}`;
  if (last !== "remembered") return { toolCalls: [{ name: "remember", input: { name, note } }] };
  return isRefunded ? `Your money for ${order} is on its way.` : `We cannot refund ${order}.`;
});

function textOf(results: readonly Message[], name: string): string {
  return results.find((message) => message.role === "tool" && message.name === name)?.content ?? "";
}

export const desk = llmAgent({
  name: "desk",
  purpose: "Answers the customers of a shop.",
  instructions:
    "You are the support desk of a shop. Recall the customer, look the order up, read the rules, and refund what they allow. " +
    "Remember what you did, then answer in one sentence.",
  model: modelFromEnv(process.env, script),
  tools: [remember, recall, serverOf("orders"), serverOf("articles")],
  agents: [refund],
});
