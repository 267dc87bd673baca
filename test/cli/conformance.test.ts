import { expect, test } from "vitest";
import { agentSaying, createProject, startCommand } from "./command.ts";

test("reports for each case whether the server passes", async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const server = startCommand(["serve", "--port=0"], { cwd });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);

  const suite = startCommand(["conformance", url], { cwd });

  expect(await suite.exited).toBe(0);
  expect(suite.output()).toMatch(/^ok {2} +1 +discovery: /m);
  expect(suite.output()).toMatch(/^skip .*\n +needs an agent "ticker", which the server does not list/m);
  expect(suite.output()).toMatch(/^\d+ passed, 0 failed, \d+ skipped$/m);
});

test("fails when no server answers", async () => {
  const cwd = await createProject({});

  const suite = startCommand(["conformance", "http://127.0.0.1:9"], { cwd });

  expect(await suite.exited).toBe(1);
});
