/** @module-tag long */
import { expect, test } from "vitest";
import { agentSaying, createProject, startCommand } from "./command.ts";

const TOKEN = "an-admin-token-of-a-test";

test("a key is made, shown once, used and revoked, and it survives a restart", async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const run = async (token: string, ...args: readonly string[]): Promise<[string | number, string]> => {
    const command = startCommand(args, { cwd, env: { TROUPE_TOKEN: token } });
    return [await command.exited, command.output()];
  };
  const serve = async (): Promise<ReturnType<typeof startCommand>> => {
    const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_TOKEN: TOKEN } });
    await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    return server;
  };
  const server = await serve();
  expect(await run(TOKEN, "keys", "list")).toEqual([0, "there is no key\n"]);
  const [code, made] = await run(
    TOKEN,
    "keys",
    "create",
    "nightly import",
    "--owner=acme",
    "--role=user",
    "--expires-days=90",
  );
  const [key = "", id = ""] = /trp_([0-9a-f]{16})_[\w-]{43}/.exec(made) ?? [];
  expect([code, key]).not.toEqual([0, ""]);
  expect((await run(key, "agents"))[0]).toBe(0);
  expect(await run(key, "keys", "list")).toEqual([1, expect.stringContaining("only an admin")]);

  server.kill("SIGTERM");
  await server.exited;
  await serve();
  expect((await run(key, "agents"))[0]).toBe(0);
  const [, list] = await run(TOKEN, "keys", "list");
  expect(list).toMatch(new RegExp(String.raw`${id}\s+nightly import\s+acme\s+user\s+works for .*ago`));
  expect(list).not.toContain("trp_");

  expect(await run(TOKEN, "keys", "revoke", id)).toEqual([0, `the key ${id} is revoked\n`]);
  expect((await run(key, "agents"))[0]).toBe(77);
  expect((await run(TOKEN, "keys", "revoke", "nothing"))[0]).toBe(66);

  // The trail of a server and that of its directory say who made and revoked it, and what was refused to it.
  const [, trail] = await run(TOKEN, "audit", "--json");
  const actions = trail.split("\n").map((line) => /"action":"(\w+)"/.exec(line)?.[1]);
  expect(actions.filter(Boolean)).toEqual(["revoke_key", "refuse", "create_key"]);
  expect(trail).toContain(`"by":{"id":"key:${id}","name":"nightly import"}`);
  expect(trail).not.toContain("trp_");
  expect(await run("", "audit", "--json", "--log=.troupe")).toEqual([0, trail]);
  expect((await run(TOKEN, "audit", "--by=token", "--action=create_key"))[1]).toMatch(
    /token +create_key +acme +\w+ nightly import/,
  );
  expect(await run(key, "audit")).toEqual([77, expect.stringContaining("refused: the token is wrong")]);
  expect((await run("", "audit", "--log=nowhere"))[0]).toBe(66);
});

test("a configuration file says who may use the server besides", { tags: "long" }, async () => {
  const cwd = await createProject({
    "agents/speaker.ts": agentSaying("hello"),
    "troupe.config.ts": `import { trustedHeader } from "troupe/auth";
export const authenticate = trustedHeader({ user: "x-user", from: ["127.0.0.1"] });`,
    "wrong.ts": "export const authentcate = 1;",
    "weak.ts": `export { authenticate } from "./troupe.config.ts";`,
  });
  const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_TOKEN: TOKEN } });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  const ask = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(`${url}/runs`, { headers })).status;
  expect(await ask({})).toBe(401);
  expect(await ask({ "x-user": "ann" })).toBe(200);
  expect(await ask({ authorization: `Bearer ${TOKEN}` })).toBe(200);

  const refused = startCommand(["serve", "--port=0", "--data=other", "--config=wrong.ts"], { cwd });
  expect([await refused.exited, refused.output()]).toEqual([
    78,
    expect.stringContaining("wrong.ts exports authentcate, which a server does not know"),
  ]);
  // A short token stays one, whoever else may come in.
  const weak = startCommand(["serve", "--port=0", "--data=other", "--host=0.0.0.0"], {
    cwd,
    env: { TROUPE_TOKEN: "short" },
  });
  expect([await weak.exited, weak.output()]).toEqual([78, expect.stringContaining("has only 5 characters")]);
});

test(
  "a configuration file names receivers of webhooks and takes messages of foreign senders",
  { tags: "long" },
  async () => {
    const cwd = await createProject({
      "agents/speaker.ts": agentSaying("hello"),
      "troupe.config.ts": `import { webhook } from "troupe/webhooks";
export const webhooks = [
  { url: "https://127.0.0.1:1/hook", on: ["end"], name: "desk", secret: "whsec_${"A".repeat(44)}" },
];
export const adapters = [
  webhook({
    name: "sender",
    agent: "speaker",
    verify: ({ headers }) => headers.get("x-signature") === "right",
    toRequest: ({ body }) => ({ id: body, operation: "chat", input: { input: body } }),
  }),
];`,
    });
    const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_TOKEN: TOKEN } });
    const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    await server.match(/webhooks +1 receiver/);
    const send = async (signature: string): Promise<number> => {
      const headers = { "x-signature": signature };
      const answer = await fetch(`${url}/webhooks/sender`, { method: "POST", headers, body: "delivery" });
      return answer.status;
    };
    expect(await send("wrong")).toBe(401);
    expect(await send("right")).toBe(202);
    const list = startCommand(["runs", "--agent", "webhook", "--json"], {
      cwd,
      env: { TROUPE_TOKEN: TOKEN },
    });
    expect([await list.exited, list.output()]).toEqual([0, expect.stringContaining('"key":"desk"')]);
  },
);
