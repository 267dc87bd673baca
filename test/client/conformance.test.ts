/** @module-tag long */
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
    // A remote agent takes no messages, its machine is not here, and the actors that it asks are not either, so the cases
    // about them need agents that are not here.
    const forwarded = agents.filter(
      ({ name, machine, messages }) =>
        messages === undefined && machine === undefined && name !== "room" && name !== "member",
    );
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
