/** @module-tag long */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentSaying, createProject, hasTerminal, startCommand, startOnTerminal } from "./command.ts";

const TOKEN = "an-admin-token-of-a-test";
const CANARY = "canary71c4";

test("an admin erases what fits from a server and its files; without --yes, a filter or the role nothing is", async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_TOKEN: TOKEN } });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  const run = async (args: readonly string[], token = TOKEN): Promise<[string | number, string]> => {
    const command = startCommand(args, { cwd, env: { TROUPE_TOKEN: token } });
    return [await command.exited, command.output()];
  };
  const makeKey = async (...options: readonly string[]): Promise<string> => {
    const [, made] = await run(["keys", "create", "key", ...options]);
    return /trp_[0-9a-f]{16}_[\w-]{43}/.exec(made)?.[0] ?? "";
  };
  const ids: string[] = [];
  const [acme, bolt] = [await makeKey("--owner=acme"), await makeKey("--owner=bolt")];
  for (const [key, input] of [
    [bolt, "hello"],
    [acme, CANARY],
    [acme, CANARY],
  ] as const) {
    const answer = await fetch(`${url}/speaker/process?wait=completed`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ type: "ChatRequest", input }),
    });
    ids.push(((await answer.json()) as { readonly run_id: string }).run_id);
  }
  const [other = ""] = ids;
  const runs = async (): Promise<readonly string[]> => {
    const [, text] = await run(["runs", "--json"]);
    return ids.filter((id) => text.includes(id));
  };
  /** How often what the owner acme has said is in the files. */
  const count = (): number =>
    readdirSync(join(cwd, ".troupe"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1").split(CANARY).length - 1)
      .reduce((sum, times) => sum + times, 0);
  expect(count()).toBeGreaterThan(0);

  const listed = async (owner: string, token: string): Promise<unknown> => {
    const answer = await fetch(`${url}/runs?owner=${owner}&total=true`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return [answer.headers.get("total-count"), ((await answer.json()) as readonly object[]).length];
  };
  expect(await listed("acme", TOKEN)).toEqual(["2", 2]);
  expect(await listed("bolt", TOKEN)).toEqual(["1", 1]);
  expect(await listed("acme", acme)).toEqual(["2", 2]);
  expect(await listed("acme", bolt)).toEqual(["1", 1]);

  const erase = ["erase", "--owner", "acme"];
  expect(await run(erase)).toEqual([2, expect.stringContaining('{"owner":"acme"}')]);
  for (const [wrong, why] of [
    [[], "needs an owner, a run, a key or metadata"],
    [["--agent=speaker"], "needs an owner, a run, a key or metadata"],
    [["--key=x"], "agent"],
    [["--metadata", "=acme"], "Write name=value."],
  ] as const)
    expect(await run(["erase", ...wrong, "--yes"])).toEqual([2, expect.stringContaining(why)]);
  expect(await run(["erase"])).toEqual([2, expect.stringContaining("needs an owner")]);
  for (const key of [acme, await makeKey("--role=operator")])
    expect(await run([...erase, "--yes"], key)).toEqual([1, expect.stringContaining("only an admin")]);
  expect(await runs()).toEqual(ids);

  const start = hasTerminal ? startOnTerminal : startCommand;
  const ended = start([...erase, "--yes"], { cwd, env: { TROUPE_TOKEN: TOKEN } });
  if (hasTerminal) await ended.match(/0 of 2 runs/);
  await ended.match(/2 runs are erased/);
  expect(await ended.exited).toBe(0);
  expect(await runs()).toEqual([other]);
  expect(count()).toBe(0);
  expect(await run(["erase", "--run", other, "--yes"])).toEqual([
    0,
    expect.stringContaining("1 run is erased"),
  ]);
  expect(await runs()).toEqual([]);
});
