import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import { z } from "zod";
import type { Gates } from "../gates.ts";

/** Says "one ", waits until the gate `go` opens, then says "two". */
export function gatedAgent(gates: Gates): Agent {
  return defineAgent({
    name: "gated",
    purpose: "Stops in the middle of its text.",
    async chat(_input, turn) {
      await turn.text("one ");
      gates.get("begun").resolve();
      await gates.get("go").promise;
      await turn.text("two");
    },
  });
}

/** Counts how often it was asked. */
export function counter(): Agent {
  let asked = 0;
  return defineAgent({
    name: "counter",
    purpose: "Counts.",
    chat(input) {
      asked += 1;
      return `${input} ${asked}`;
    },
  });
}

export const thrower: Agent = defineAgent({
  name: "thrower",
  purpose: "Breaks.",
  async chat(_input, turn) {
    await turn.text("so far");
    throw new Error("it broke");
  },
});

/** Publishes a file, asks, and publishes another. */
export const publisher: Agent = defineAgent({
  name: "publisher",
  purpose: "Publishes files.",
  async chat(_input, turn) {
    await turn.artifact({ name: "out/a.txt", mimeType: "text/plain", data: "first" });
    await turn.waitForInput({ more: "More?" });
    await turn.artifact({ name: "../../etc/b.html", mimeType: "text/html", data: "second" });
  },
});

/** Tells what it got besides the text. */
export const mirror: Agent = defineAgent({
  name: "mirror",
  purpose: "Tells its metadata and attachments.",
  async chat(input, turn) {
    const files = [];
    for (const file of await turn.attachments()) files.push({ name: file.name, text: await file.text() });
    return JSON.stringify({ input, metadata: turn.metadata, files });
  },
});

/** Asks for two values at once. */
export const form: Agent = defineAgent({
  name: "form",
  purpose: "Asks for two values.",
  async chat(_input, turn) {
    const { name, age } = await turn.waitForInput(
      z.object({ name: z.string().describe("Your name?"), age: z.number().describe("Your age?") }),
    );
    return `${name} is ${age}`;
  },
});

/** Asks three times, for a number, a yes or no, and a text. */
export const typed: Agent = defineAgent({
  name: "typed",
  purpose: "Asks for values of several types.",
  async chat(_input, turn) {
    const { count } = await turn.waitForInput(z.object({ count: z.int().describe("How many?") }));
    const { sure } = await turn.waitForInput(z.object({ sure: z.boolean().describe("Sure?") }));
    const { note } = await turn.waitForInput(z.object({ note: z.string().describe("A note?") }));
    return JSON.stringify({ count, sure, note });
  },
});
