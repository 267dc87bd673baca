/** @module-tag long */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { afterLastTest, createProject, startCommand } from "../../cli/command.ts";
import type { RunningCommand } from "../../cli/command.ts";
import { oddValues } from "./odd-values.ts";
import { chat } from "../server.ts";

let server: RunningCommand;
let url = "";
const atEnd = afterLastTest();
beforeAll(async () => {
  const cwd = await createProject({}, atEnd);
  const agents = `--agents=${join(import.meta.dirname, "odd-agents")}`;
  server = startCommand(["serve", "--port=0", agents], { cwd, atEnd });
  [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
});

test.each(["timer", "rejection", "tick"])(
  "an odd value thrown outside a call ends only its turn (%s)",
  async (place) => {
    const names = Object.keys(oddValues);
    const ends = await Promise.all(names.map((name) => throwing(`${name} ${place}`)));
    expect(Object.fromEntries(ends.map((code, at) => [names[at], code]))).toEqual(
      Object.fromEntries(names.map((name) => [name, "agent_crashed"])),
    );
    expect(await chat(`${url}/sound/process`, { input: "?", wait: "completed" })).toMatchObject({
      result: "well",
    });
    expect(server.output()).toContain("failed outside any call");
  },
);

test.each(["handler", "effect"])("an odd value thrown in a call ends only its turn (%s)", async (place) => {
  const names = Object.keys(oddValues);
  const ends = await Promise.all(names.map((name) => throwing(`${name} ${place}`)));
  expect(Object.fromEntries(ends.map((code, at) => [names[at], code]))).toEqual(
    Object.fromEntries(names.map((name) => [name, "agent_error"])),
  );
});

/** Lets the odd agent throw. Returns the error code of its turn. */
async function throwing(input: string): Promise<unknown> {
  const request = { input, wait: "completed", request_id: input.replaceAll(/\W/g, "-") };
  let end = await chat(`${url}/odd/process`, request);
  // On a loaded machine the answer may come before the end; the same request then waits again.
  while (end["type"] !== "RequestCompleted") end = await chat(`${url}/odd/process`, request);
  const { code, message } = end["error"] as { readonly code: unknown; readonly message: unknown };
  expect(typeof message).toBe("string");
  return code;
}
