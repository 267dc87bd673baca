// One dependency with three implementations: a tool, an agent, and an agent on another server. Its user does
// not change.
import assert from "node:assert/strict";
import { createRuntime, defineAgent, defineTool, operation } from "troupe";
import type { Agent } from "troupe";
import { createClient, remoteAgent } from "troupe/client";
import { serve } from "troupe/node";
import { z } from "zod";

const query = z.object({ query: z.string() });
const found = z.object({ answer: z.string() });

// First, a tool that knows one fact.
const search = defineTool({
  name: "search",
  description: "Searches for information.",
  input: query,
  output: found,
  run: ({ query }) => ({ answer: query === "moss" ? "It grows on the north side." : "I do not know." }),
});

// The guide declares its dependencies; these are used unless the runtime binds others.
const guide = defineAgent({
  name: "guide",
  purpose: "Answers questions by searching.",
  uses: { search },
  async chat(question, turn) {
    const { answer } = await turn.call(turn.uses.search, "search", { query: question });
    await turn.text(answer);
  },
});

assert.equal(await ask({}), "It grows on the north side.");

// Later, an agent with the same operation, which also reports its progress.
const librarian = defineAgent({
  name: "librarian",
  purpose: "Searches a library.",
  operations: {
    search: operation({
      input: query,
      output: found,
      async run({ query }, turn) {
        await turn.text(`Searching for ${query}.`);
        return { answer: `There is a book about ${query}.` };
      },
    }),
  },
});

assert.equal(await ask({ search: librarian }), "There is a book about moss.");

// Finally, the agent moves to its own server.
const elsewhere = createRuntime({ agents: [librarian] });
const server = await serve(elsewhere, { port: 0 });
assert.equal(await ask({ search: remoteAgent(`${server.url}/librarian`) }), "There is a book about moss.");
await server.close();
await elsewhere.close();

/** Asks the guide with other implementations of its dependencies. */
async function ask(bind: { readonly [name: string]: Agent }): Promise<string> {
  const runtime = createRuntime({ agents: [guide], bind });
  const { url, close } = await serve(runtime, { port: 0 });
  try {
    const call = createClient(url).agent<typeof guide>("guide").chat("moss");
    for await (const event of call) console.log(`${"  ".repeat(event.depth)}${event.agent}: ${event.type}`);
    return await call;
  } finally {
    await close();
    await runtime.close();
  }
}
