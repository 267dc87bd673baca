// Serves an agent whose model and tool count their calls in files and block in the middle of their work in
// the first processes. Its only argument is the directory that survives it.
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineTool } from "troupe";
import type { Model } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { z } from "zod";

const [, , directory = "."] = process.argv;

/** Adds a line to a file of the directory. Returns the number of lines. */
function note(file: string, line: string): number {
  appendFileSync(join(directory, file), `${line}\n`);
  return readFileSync(join(directory, file), "utf8").split("\n").length - 1;
}

const life = note("lives", "born");
const forever = new Promise<never>(() => {});

const charge = defineTool({
  name: "charge",
  description: "Takes money from somebody.",
  input: z.object({ amount: z.number() }),
  async run({ amount }, turn) {
    note("charged", String(amount));
    turn.progress("charged");
    if (life === 1) await forever;
    return "charged";
  },
});

const script = scriptedModel([
  { text: "Let me see. ", toolCalls: [{ name: "charge", input: { amount: 7 } }] },
  { text: "It may have been charged.", toolCalls: [{ name: "ask", input: {} }] },
  "So be it.",
]);

const ask = defineTool({
  name: "ask",
  description: "Asks a human.",
  input: z.object({}),
  effect: "idempotent",
  run: () => "asked",
});

const model: Model = {
  name: "counting",
  async *generate(input, context) {
    const { messages } = input as { readonly messages: readonly { readonly role: string }[] };
    const number = messages.filter(({ role }) => role === "assistant").length + 1;
    note("asked", String(number));
    for await (const part of script.generate(input, context)) {
      yield part;
      if (life === 2 && number === 2) await forever;
    }
  },
};

const runtime = createRuntime({
  agents: [
    llmAgent({
      name: "clerk",
      purpose: "Charges people.",
      instructions: "Be careful.",
      model,
      tools: [charge, ask],
      approve: ["ask"],
    }),
  ],
  log: sqliteLog(directory),
});
const { url } = await serve(runtime, { port: 0 });
console.log(url);
