import { defineAgent, defineTool, operation } from "troupe";
import type { Agent } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import { ModelError } from "../../../../src/ports/model.ts";
import { z } from "zod";
import type { Gates } from "../../gates.ts";
import { payments } from "../../../../agents/payments.ts";

/** Says "one ", then waits until the gate `go` opens, then says "two". Counts how often it runs. */
export function gatedAgent(gates: Gates): Agent {
  return defineAgent({
    name: "gated",
    purpose: "Stops in the middle of its text.",
    async chat(_input, turn) {
      await turn.text("one ");
      await turn.effect("wait", ({ signal }) => {
        const stopped = new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => resolve());
        });
        return Promise.race([gates.get("go").promise, stopped]);
      });
      await turn.text("two");
    },
  });
}

const weather = defineTool({
  name: "weather",
  description: "Finds out how warm it is.",
  input: z.object({ city: z.string() }),
  effect: "idempotent",
  run: ({ city }, turn) => {
    turn.progress("asking ");
    turn.progress("the station");
    if (city === "Atlantis") throw new Error("there is no such city");
    return { degrees: city.length };
  },
});

/** Calls a tool between two texts. */
export const forecaster: Agent = defineAgent({
  name: "forecaster",
  purpose: "Calls a tool.",
  tools: [weather],
  async chat(input, turn) {
    await turn.text("Let me see. ");
    try {
      const { degrees } = await turn.tool(weather, { city: input });
      await turn.text(`It is ${degrees}.`);
    } catch (error) {
      await turn.text(`I do not know: ${error instanceof Error ? error.message : ""}.`);
    }
  },
});

/** Throws after a text. */
export const thrower: Agent = defineAgent({
  name: "thrower",
  purpose: "Breaks.",
  async chat(_input, turn) {
    await turn.text("so far ");
    throw new Error("it broke");
  },
});

/** Says and returns nothing. */
export const silent: Agent = defineAgent({ name: "silent", purpose: "Says nothing.", chat: () => undefined });

/** Returns its text without sending it. */
export const returning: Agent = defineAgent({
  name: "returning",
  purpose: "Returns a text.",
  chat: (input) => `You said ${input}.`,
});

/** Publishes an image, a sound, a film and a document. */
export const publisher: Agent = defineAgent({
  name: "publisher",
  purpose: "Publishes files.",
  async chat(_input, turn) {
    await turn.text("Here: ");
    await turn.artifact({ name: "a.png", mimeType: "image/png", data: "png" });
    await turn.artifact({ name: "a.mp3", mimeType: "audio/mpeg", data: "mp3" });
    await turn.artifact({ name: "a.mp4", mimeType: "video/mp4", data: "mp4" });
    await turn.artifact({ name: "a.pdf", mimeType: "application/pdf", data: "pdf" });
  },
});

/** Tells what it got besides the text. */
export const mirror: Agent = defineAgent({
  name: "mirror",
  purpose: "Tells its metadata and attachments.",
  async chat(input, turn) {
    const files = [];
    for (const file of await turn.attachments()) {
      files.push({ name: file.name, type: file.mimeType, text: await file.text() });
    }
    await turn.text(JSON.stringify({ input, metadata: turn.metadata, files }));
  },
});

/** Asks for approval with a reason, and then reports both. */
export const approver: Agent = defineAgent({
  name: "approver",
  purpose: "Asks for approval.",
  async chat(_input, turn) {
    const { approved, reason } = await turn.waitForInput(
      z.object({
        approved: z.boolean().describe("May I?"),
        reason: z.string().optional().describe("Why?"),
      }),
    );
    await turn.text(`${approved ? "yes" : "no"}, ${reason ?? "no reason"}`);
  },
});

/** Asks for two values at once. */
export const form: Agent = defineAgent({
  name: "form",
  purpose: "Asks for two values.",
  async chat(_input, turn) {
    await turn.text("Before. ");
    const { name, age } = await turn.waitForInput(
      z.object({ name: z.string().describe("Your name?"), age: z.number().describe("Your age?") }),
    );
    return `${name} is ${age}`;
  },
});

/** Says something, asks something, and has nothing more to say. */
export const terse: Agent = defineAgent({
  name: "terse",
  purpose: "Says little.",
  async chat(_input, turn) {
    await turn.text("Before.");
    await turn.waitForInput(z.object({ name: z.string().describe("Your name?") }));
  },
});

/** A model that thinks, says something, calls a tool, and answers. */
export const thinker: Agent = llmAgent({
  name: "thinker",
  purpose: "Thinks.",
  instructions: "Think.",
  tools: [weather],
  model: scriptedModel([
    { reasoning: "Hm.", text: "I ask. ", toolCalls: [{ name: "weather", input: { city: "Oslo" } }] },
    { text: "It is 4 degrees." },
  ]),
});

/** A model that breaks off once in the middle of its text. */
export function stutterer(): Agent {
  let asked = 0;
  return llmAgent({
    name: "stutterer",
    purpose: "Breaks off once.",
    instructions: "",
    model: scriptedModel(() => {
      asked += 1;
      return asked === 1
        ? {
            reasoning: "Hm?",
            text: "It is fo",
            error: new ModelError("cut off", { code: "model_unavailable" }),
          }
        : { reasoning: "Hm.", text: "It is four." };
    }),
  });
}

const helper = defineAgent({
  name: "helper",
  purpose: "Helps.",
  operations: {
    help: operation({
      description: "Helps.",
      input: z.object({ parts: z.int() }),
      output: z.object({ done: z.boolean() }),
      async run({ parts }, turn) {
        for (let part = 0; part < parts; part += 1) await turn.text("x".repeat(10));
        const { approved } = await turn.waitForInput(
          z.object({ approved: z.boolean().describe("May I help?") }),
        );
        return { done: approved };
      },
    }),
  },
});

/** Calls an agent that talks and asks. */
export const boss: Agent = defineAgent({
  name: "boss",
  purpose: "Calls a helper.",
  uses: { helper },
  async chat(_input, turn) {
    const { done } = await turn.call(helper, "help", { parts: 40 });
    await turn.text(done ? "Helped." : "Not helped.");
  },
});

const careless = defineAgent({
  name: "careless",
  purpose: "Leaves a question behind.",
  uses: { payments },
  async chat(_input, turn) {
    const call = turn.call(payments, "pay", { to: "bob", amount: 1 });
    call.catch(() => undefined);
    for await (const event of call) if (event.type === "WaitForInput") break;
  },
});

/** Asks two things, one after the other, after a called agent has left a question behind. */
export const inheritor: Agent = defineAgent({
  name: "inheritor",
  purpose: "Asks two things.",
  uses: { careless },
  async chat(_input, turn) {
    await turn.call(careless, "chat", { input: "go" });
    const { name } = await turn.waitForInput(z.object({ name: z.string().describe("Your name?") }));
    const { city } = await turn.waitForInput(z.object({ city: z.string().describe("Your city?") }));
    await turn.text(`${name} of ${city}`);
  },
});
