// Runs the protocol suite against a server whose agents all work on another server.
import { createRuntime } from "troupe";
import { serve } from "troupe/node";
import { afterAll } from "vitest";
import { remoteAgent } from "../../src/client/remote/agent.ts";
import { testProtocol } from "../../src/testing/protocol/register.ts";
import { agents } from "../flows/agents.ts";

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

testProtocol({
  async baseUrl() {
    const elsewhere = createRuntime({ agents });
    const there = await serve(elsewhere);
    // A remote agent takes no messages, so the cases about them need an agent that is not here.
    const forwarded = agents.filter(({ messages }) => messages === undefined);
    const runtime = createRuntime({
      agents: forwarded.map(({ name }) => remoteAgent(`${there.url}/${name}`)),
    });
    const here = await serve(runtime);
    closing.push(
      () => elsewhere.close(),
      () => there.close(),
      () => runtime.close(),
      () => here.close(),
    );
    return here.url;
  },
});
