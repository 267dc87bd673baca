// Two servers that use each other's agents. Each one stops in the middle of the work, and nothing is lost.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineAgent } from "troupe";
import type { Agent } from "troupe";
import { createClient, remoteAgent } from "troupe/client";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";

/** A server that can be stopped and restarted, with the same address and data. */
class Place {
  readonly #directory: string;
  readonly #toAgents: () => readonly Agent[];
  #port = 0;
  #stop = async (): Promise<void> => {};

  constructor(directory: string, toAgents: () => readonly Agent[]) {
    this.#directory = directory;
    this.#toAgents = toAgents;
  }

  url(agent: string): string {
    return `http://127.0.0.1:${this.#port}/${agent}`;
  }

  async start(): Promise<void> {
    const runtime = createRuntime({ agents: this.#toAgents(), log: sqliteLog(this.#directory) });
    const server = await serve(runtime, { port: this.#port });
    this.#port = Number(new URL(server.url).port);
    this.#stop = async () => {
      // Turns get no time to end; they continue after the next start.
      await runtime.close({ drainMs: 0 });
      await server.close();
    };
  }

  stop(): Promise<void> {
    return this.#stop();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }
}

const data = await mkdtemp(join(tmpdir(), "two-servers-"));

// A writer in the north uses an editor in the south, which uses a dictionary in the north.
const north = new Place(join(data, "north"), () => [
  defineAgent({
    name: "writer",
    purpose: "Lets an editor correct a text.",
    async chat(text, turn) {
      const { output } = await turn.call(remoteAgent(south.url("editor")), "chat", { input: text });
      await turn.text(output);
    },
  }),
  defineAgent({
    name: "dictionary",
    purpose: "Spells a word.",
    async chat(word, turn) {
      await turn.sleep(100);
      await turn.text(word.toLowerCase());
    },
  }),
]);
const south = new Place(join(data, "south"), () => [
  defineAgent({
    name: "editor",
    purpose: "Corrects a text, word by word.",
    async chat(text, turn) {
      const words: string[] = [];
      for (const word of text.split(" ")) {
        const { output } = await turn.call(remoteAgent(north.url("dictionary")), "chat", { input: word });
        await turn.text(`(${output})`);
        words.push(output);
      }
      return words.join(" ");
    },
  }),
]);

await south.start();
await north.start();
try {
  const edited: string[] = [];
  const call = createClient(north.url("writer")).agent().chat("ONE TWO THREE FOUR FIVE SIX");
  for await (const event of call) {
    if (event.type !== "TextOutput") continue;
    console.log(`${"  ".repeat(event.depth)}${event.agent}: ${event.content}`);
    if (event.agent !== "editor") continue;
    edited.push(event.content);
    // This reader sees no interruption: the client reconnects and resumes where it was.
    if (event.content === "(two)") await south.restart();
    if (event.content === "(four)") await north.restart();
  }
  assert.deepEqual(edited, ["(one)", "(two)", "(three)", "(four)", "(five)", "(six)"]);
  assert.equal(await call, "one two three four five six");
} finally {
  await north.stop();
  await south.stop();
  await rm(data, { recursive: true, force: true });
}
