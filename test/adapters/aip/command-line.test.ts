/** @module-tag long */
import { join, resolve } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createProject, startCommand } from "../../cli/command.ts";
import type { RunningCommand } from "../../cli/command.ts";
import { skipWithoutPythonGrpc } from "../../machine/skip-without.ts";
import { PythonPeers } from "./peers/python-peer.ts";

const root = resolve(import.meta.dirname, "../../..");
const key = (name: string): string => join(import.meta.dirname, "keys", name);
const OWN = ["--aip-key", key("node.key"), "--aip-cert", key("node.pem")];

const ECHO = `import { defineAgent } from "troupe";
export const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });
`;

const peers = new PythonPeers();
beforeEach(({ skip }) => {
  if (!peers.available) skipWithoutPythonGrpc(skip);
});
afterAll(() => peers[Symbol.dispose]());

/** `troupe serve` with an agent and a gateway. */
async function startServe(
  options: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningCommand> {
  const cwd = await createProject({ "agents/echo.ts": ECHO });
  return startCommand(["serve", "--port", "0", "--aip", "127.0.0.1:0", ...options], { cwd, env });
}

async function gatewayOf(command: RunningCommand): Promise<string> {
  const [, address = ""] = await command.match(/^aip +(127\.0\.0\.1:\d+)$/m);
  return address;
}

/** What `echo` answers to the Python client with these files, or the status. */
async function ask(gateway: string, ...files: readonly string[]): Promise<unknown> {
  await using client = peers.start("secure.py", gateway, "echo", "to be", ...files);
  return await client.json();
}

test("with a key and a certificate the Python client connects over TLS, if it trusts their authority", async () => {
  const gateway = await gatewayOf(await startServe(OWN));
  expect(await ask(gateway, key("ca.pem"))).toEqual(["to be", ""]);
  expect(await ask(gateway, key("other-ca.pem"))).toBe("UNAVAILABLE");
  expect(await ask(gateway)).toBe("UNAVAILABLE");
});

test("with an authority too, it needs a certificate of this authority", async () => {
  const gateway = await gatewayOf(await startServe([...OWN, "--aip-ca", key("ca.pem")]));
  expect(await ask(gateway, key("ca.pem"), key("node.key"), key("node.pem"))).toEqual(["to be", ""]);
  expect(await ask(gateway, key("ca.pem"), key("stranger.key"), key("stranger.pem"))).toBe("UNAVAILABLE");
  expect(await ask(gateway, key("ca.pem"))).toBe("UNAVAILABLE");
});

test("beside a token it is refused without --aip-open, and works with it", async () => {
  const env = { TROUPE_TOKEN: "a-token-of-the-server" };
  const refused = await startServe([], env);
  await refused.match(/--aip-open/);
  expect(await refused.exited).not.toBe(0);
  expect(await ask(await gatewayOf(await startServe(["--aip-open"], env)))).toEqual(["to be", ""]);
});

test("a file that is no key, and one that is not there, are named", async () => {
  for (const [file, named] of [
    [key("none.pem"), "none.pem"],
    [join(root, "package.json"), "PEM"],
  ] as const) {
    const refused = await startServe(["--aip-key", key("node.key"), "--aip-cert", file]);
    await refused.match(new RegExp(named));
    expect(await refused.exited).not.toBe(0);
  }
});
