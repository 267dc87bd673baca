/** @module-tag long */
import { join } from "node:path";
import { test } from "vitest";
import { RestartedServer } from "./restarted-server.ts";

test("a server whose clock jumps forward ends sleeps, waits and deadlines that are over, without a restart", async ({
  expect,
}) => {
  await using server = new RestartedServer("stepped-agents", [join(import.meta.dirname, "stepped-clock.ts")]);
  const agents = ["sleeper", "asker", "caller"];
  for (const agent of agents)
    await server.post(agent, { type: "ChatRequest", input: "", request_id: agent, wait: "acknowledged" });
  server.signal("SIGUSR2");
  const ends = await Promise.all(agents.map((agent) => server.ask(agent, "", agent)));
  expect(ends.map(({ finish_reason: reason }) => reason)).toEqual(["success", "success", "success"]);
  expect(server.deaths).toBe(0);
});
