/** @module-tag long */
import { expect, test } from "vitest";
import { findFreeUrl } from "../machine/free-port.ts";
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

test("reports in two lines that no server answers, with the exit code of a missing server", async () => {
  const cwd = await createProject({});
  const url = await findFreeUrl();

  const suite = startCommand(["conformance", url], { cwd });

  expect(await suite.exited).toBe(69);
  const lines = suite.output().trimEnd().split("\n");
  expect(lines).toEqual([
    expect.stringMatching(`^troupe: no server answers at ${url}: .*ECONNREFUSED`),
    "start the server, or correct the URL",
  ]);
});
