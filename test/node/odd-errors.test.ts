import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startProgram } from "../cli/command.ts";
import type { RunningCommand } from "../cli/command.ts";
import { oddValues } from "./odd-values.ts";
import { chat } from "./server.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const AGENTS = join(import.meta.dirname, "odd-agents");

test.each(["timer", "rejection", "tick"])(
  "an odd value thrown outside a call ends only its turn (%s)",
  async (place) => {
    const { server, url } = await startServer();
    const names = Object.keys(oddValues);
    const ends = await Promise.all(names.map((name) => throwing(url, `${name} ${place}`)));
    expect(Object.fromEntries(ends.map((code, at) => [names[at], code]))).toEqual(
      Object.fromEntries(names.map((name) => [name, "agent_crashed"])),
    );
    expect(await chat(`${url}/sound/process`, { input: "?", wait: "completed" })).toMatchObject({
      result: "well",
    });
    expect(server.output()).toContain("failed outside any call");
  },
  300_000,
);

test.each(["handler", "effect"])(
  "an odd value thrown in a call ends only its turn (%s)",
  async (place) => {
    const { url } = await startServer();
    const names = Object.keys(oddValues);
    const ends = await Promise.all(names.map((name) => throwing(url, `${name} ${place}`)));
    expect(Object.fromEntries(ends.map((code, at) => [names[at], code]))).toEqual(
      Object.fromEntries(names.map((name) => [name, "agent_error"])),
    );
  },
  300_000,
);

/** Lets the odd agent throw. Returns the error code of its turn. */
async function throwing(url: string, input: string): Promise<unknown> {
  const request = { input, wait: "completed", request_id: input.replaceAll(/\W/g, "-") };
  let end = await chat(`${url}/odd/process`, request);
  // On a loaded machine the answer may come before the end; the same request then waits again.
  while (end["type"] !== "RequestCompleted") end = await chat(`${url}/odd/process`, request);
  const { code, message } = end["error"] as { readonly code: unknown; readonly message: unknown };
  expect(typeof message).toBe("string");
  return code;
}

/** `troupe serve` as users run it, from source. */
async function startServer(): Promise<{ readonly server: RunningCommand; readonly url: string }> {
  const data = await mkdtemp(join(tmpdir(), "troupe-odd-"));
  onTestFinished(() => rm(data, { recursive: true, force: true }));
  const node = ["--conditions=troupe-source", "--disable-warning=ExperimentalWarning", MAIN];
  const args = [...node, "serve", "--agents", AGENTS, "--data", data, "--port", "0"];
  const server = startProgram(process.execPath, args, { cwd: data });
  const [url = ""] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  return { server, url };
}
