import { defineAgent } from "troupe";
import type { Runtime } from "troupe";
import { z } from "zod";

/** An agent with a secret and a file. */
export const keeper = defineAgent({
  name: "keeper",
  purpose: "Publishes its key as a file and says it.",
  config: z.object({ api_key: z.string().default("none") }),
  async chat(_, turn) {
    await turn.artifact({ name: "key.txt", mimeType: "text/plain", data: turn.config.api_key });
    return turn.config.api_key;
  },
});

/** An agent that waits for input. */
export const asker = defineAgent({
  name: "asker",
  purpose: "Asks for a name.",
  async chat(_, turn) {
    const { name } = await turn.waitForInput(z.object({ name: z.string() }));
    return `Hello, ${name}!`;
  },
});

/** Reads a file as a text. */
export async function readText(runtime: Runtime, artifactId: string): Promise<string> {
  let text = "";
  for await (const chunk of (await runtime.artifact(artifactId)).body)
    text += new TextDecoder().decode(chunk);
  return text;
}
