import { llmAgent, modelFromEnv, scriptedModel } from "troupe/llm";
import type { Message, Prompt, ScriptStep } from "troupe/llm";
import type { Json } from "troupe/protocol";
import { calculator } from "./calculator.ts";
import { payments } from "./payments.ts";

/** Calculates and pays by calling other agents, and calls tools of its client. Without a model in the environment it uses a script. */
export const assistant = llmAgent({
  name: "assistant",
  purpose: "Chats, calculates, and makes payments that a human approves.",
  instructions: "You are a friendly assistant. Calculate and pay with your tools only, and answer briefly.",
  model: modelFromEnv(process.env, scriptedModel(script)),
  agents: [calculator, payments],
  clientTools: true,
});

const SUM = /(-?\d+(?:\.\d+)?)\s*([-+*/])\s*(-?\d+(?:\.\d+)?)/;
const PAYMENT = /\bpay (\d+(?:\.\d+)?) to ((?:the )?[\w-]+)/i;
const SAME_PAYMENT = /\bpay ()((?:the )?[\w-]+) that much/i;

const CALL = /\bcall ([\w-]+)(?: with (\{[^}]*\}))?/gi;

const operations = new Map([
  ["+", "add"],
  ["-", "subtract"],
  ["*", "multiply"],
  ["/", "divide"],
]);

/** Plays the model: first calls what is named, as in `call clock with {"zone":"UTC"}`, or calculates, then pays, then reports. */
function script({ messages, tools }: Prompt): ScriptStep {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const input = messages[asked]?.content ?? "";
  // A request without tools asks for a summary of a long conversation.
  if (tools.length === 0) return { text: input.slice(-1_000) };

  const named = [...input.matchAll(CALL)].filter(([, name]) => tools.some((tool) => tool.name === name));
  if (named.length > 0) {
    const results = messages.slice(asked).filter(isResult);
    if (results.length > 0)
      return { text: results.map(({ name, content }) => `${name}: ${content}`).join("\n") };
    return {
      toolCalls: named.map(([, name = "", args = "{}"]) => ({ name, input: JSON.parse(args) as Json })),
    };
  }

  const [sum, a, sign = "", b] = SUM.exec(input) ?? [];
  const calculated = resultOf("calculator__", messages.slice(asked));
  if (sum && !calculated) {
    return {
      toolCalls: [{ name: `calculator__${operations.get(sign)}`, input: { a: Number(a), b: Number(b) } }],
    };
  }
  // A result from an earlier turn of the run can be used too.
  const value = valueOf(calculated ?? resultOf("calculator__", messages));

  const [payment, given, to = ""] = PAYMENT.exec(input) ?? SAME_PAYMENT.exec(input) ?? [];
  const paid = resultOf("payments__", messages.slice(asked));
  const amount = given ? Number(given) : value;
  if (payment && !paid && amount !== undefined) {
    return { toolCalls: [{ name: "payments__pay", input: { to, amount } }] };
  }

  const said: string[] = [];
  if (sum)
    said.push(value === undefined ? `${sum} has no answer: ${calculated?.content}.` : `${sum} is ${value}.`);
  if (payment) said.push(paid ? toReport(to, paid) : `I do not know how much to pay to ${to}.`);
  if (said.length === 0) said.push(`You said "${input}"; ask me what 6 / 3 is, or to pay 5 to bob.`);
  return { text: said.join(" ") };
}

type Result = Extract<Message, { readonly role: "tool" }>;

/** The newest result of a tool whose name has this prefix. */
function resultOf(prefix: string, messages: readonly Message[]): Result | undefined {
  return messages.filter(isResult).findLast(({ name }) => name.startsWith(prefix));
}

function isResult(message: Message): message is Result {
  return message.role === "tool";
}

function valueOf(result: Result | undefined): number | undefined {
  if (result === undefined || result.isError) return undefined;
  return (JSON.parse(result.content) as { readonly value: number }).value;
}

function toReport(to: string, { content, isError }: Result): string {
  if (isError) return `I could not pay ${to}: ${content}.`;
  const { receipt } = JSON.parse(content) as { readonly receipt?: string };
  return receipt === undefined ? `The payment to ${to} was declined.` : `${to} was paid, receipt ${receipt}.`;
}
