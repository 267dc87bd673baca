import { createRuntime } from "troupe";
import type { Agent } from "troupe";
import { serve } from "troupe/node";
import { collect } from "troupe/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { echo } from "../../../agents/echo.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("relay", () => {
  test("reports that it has no address", async () => {
    const runtime = createRuntime({ agents: [await load("")] });
    expect(runtime.describe("relay").purpose).toContain("set TROUPE_REMOTE");
    const events = await collect(runtime, "relay", { type: "ChatRequest", input: "hello" });
    expect(events.at(-1)).toMatchObject({
      finish_reason: "error",
      error: { code: "agent_error", message: expect.stringContaining("set TROUPE_REMOTE") as string },
    });
    await runtime.close();
  });

  test("forwards everything to the agent at its address", async () => {
    const far = createRuntime({ agents: [echo] });
    const server = await serve(far);
    const runtime = createRuntime({ agents: [await load(`${server.url}/echo`)] });
    const input = { text: "ho ", times: 3 };
    const events = await collect(runtime, "relay", { type: "OperationRequest", operation: "repeat", input });
    expect(events.map(({ agent, type }) => [agent, type])).toEqual([
      ["relay", "RequestStarted"],
      ["relay", "TextOutput"],
      ["relay", "TextOutput"],
      ["relay", "TextOutput"],
      ["relay", "RequestCompleted"],
    ]);
    expect(events.at(-1)).toMatchObject({ output: { text: "ho ho ho " } });
    expect(runtime.describe("relay")).toMatchObject({ name: "relay", purpose: echo.purpose });
    await runtime.close();
    await server.close();
    await far.close();
  });
});

/** The agent as its file creates it if the environment has an address. */
async function load(address: string): Promise<Agent> {
  vi.stubEnv("TROUPE_REMOTE", address);
  vi.resetModules();
  const { relay } = await import("../../../agents/relay.ts");
  return relay;
}
