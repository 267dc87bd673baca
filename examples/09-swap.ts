// One place, filled in three ways: by a tool, an agent, and an agent of another server. Its user stays the same.
import assert from "node:assert/strict";
import { createRuntime, defineAgent, defineTool, operation } from "troupe";
import type { Agent } from "troupe";
import { createClient, remoteAgent } from "troupe/client";
import { serve } from "troupe/node";
import { z } from "zod";

const query = z.object({ query: z.string() });
const found = z.object({ answer: z.string() });

// At first there is a tool that knows one thing.
const search = defineTool({
  name: "search",
  description: "Finds out about something.",
  input: query,
  output: found,
  run: ({ query }) => ({ answer: query === "moss" ? "It grows on the north side." : "I do not know." }),
});

// The guide says whom it works with; that is who it works with unless the runtime is told otherwise.
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

// One day there is an agent that can do the same, and says what it is about.
const librarian = defineAgent({
  name: "librarian",
  purpose: "Looks things up.",
  operations: {
    search: operation({
      input: query,
      output: found,
      async run({ query }, turn) {
        await turn.text(`Let me look for ${query}.`);
        return { answer: `There is a book about ${query}.` };
      },
    }),
  },
});

assert.equal(await ask({ search: librarian }), "There is a book about moss.");

// And then it moves to a server of its own.
const elsewhere = createRuntime({ agents: [librarian] });
const server = await serve(elsewhere, { port: 0 });
assert.equal(await ask({ search: remoteAgent(`${server.url}/librarian`) }), "There is a book about moss.");
await server.close();
await elsewhere.close();

/** Asks the guide, with others in the places of those it uses. */
async function ask(bind: { readonly [name: string]: Agent }): Promise<string | null> {
  const runtime = createRuntime({ agents: [guide], bind });
  const { url, close } = await serve(runtime, { port: 0 });
  try {
    let result: string | null = null;
    for await (const event of createClient(`${url}/guide`).stream({ type: "ChatRequest", input: "moss" })) {
      console.log(`${"  ".repeat(event.depth)}${event.agent}: ${event.type}`);
      if (event.type === "RequestCompleted") ({ result } = event);
    }
    return result;
  } finally {
    await close();
    await runtime.close();
  }
}
