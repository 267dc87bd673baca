import { createRuntime } from "troupe";
import type { Agent } from "troupe";
import type { Event } from "troupe/protocol";
import { collect } from "troupe/testing";

/** Sends a chat to an agent in its own runtime. */
export async function chat(agent: Agent, input: string = "hello"): Promise<readonly Event[]> {
  const runtime = createRuntime({ agents: [agent] });
  try {
    return await collect(runtime, agent.name, { type: "ChatRequest", input });
  } finally {
    await runtime.close();
  }
}
