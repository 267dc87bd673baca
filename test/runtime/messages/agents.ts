import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import type { Json, JsonObject, Request } from "troupe/protocol";
import { z } from "zod";

/** A message for the run with the key `room`. */
export function message(name: string, body: Json, more: Partial<Request> & JsonObject = {}): Request {
  return { type: "Message", name, body, key: "room", ...more } as Request;
}

/** Says what it receives, until the text `end`. */
export const listener: Agent = defineAgent({
  name: "listener",
  purpose: "Says the notes that it receives.",
  messages: { note: z.string(), count: z.object({ n: z.number().default(1) }) },
  async chat(_input, turn) {
    for (;;) {
      const note = await turn.receive("note");
      if (note === "end") return undefined;
      await turn.text(`${note} `);
    }
  },
});

/** Says the notes that are unread when its turn starts. */
export const reader: Agent = defineAgent({
  name: "reader",
  purpose: "Says the unread notes.",
  messages: { note: z.string(), count: z.object({ n: z.number().default(1) }) },
  chat: (_input, turn) =>
    JSON.stringify([turn.received("note"), turn.received("count"), turn.received("note")]),
});

/** Accepts no messages. */
export const deaf: Agent = defineAgent({ name: "deaf", purpose: "Hears nothing.", chat: () => "done" });
