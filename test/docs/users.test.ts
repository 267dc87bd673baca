/** @module-tag long */
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentSaying, createProject, main, startCommand } from "../cli/command.ts";
import { skipWithoutCurl } from "../machine/skip-without.ts";
import { canRunBlocks, findBlocks, root, runBlock } from "./blocks.ts";
import { shortened } from "../machine/long.ts";

const PAGE = "docs/guide/users.md";
const own = `npx() { "${process.execPath}" "${main}" "\${@:2}"; }\nexport -f npx\n`;

test("the commands for API keys work as described", { tags: "long" }, async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const cwd = await createProject({ "agents/echo.ts": agentSaying("hello", "echo") });
  const [script = ""] = findBlocks(PAGE, "## API keys", "sh");
  const [, token = ""] = /TROUPE_TOKEN=(\S+)/.exec(script) ?? [];
  const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_TOKEN: token } });
  const [, address = ""] = await server.match(/http:\/\/(127\.0\.0\.1:\d+)/);
  const output = await runBlock(own + script, address, cwd);
  expect(output).toMatch(/nightly-import +acme +user +works for /);
  expect(output).toContain("echo");
  expect(output.trimEnd().split("\n").at(-1)).toBe("the key has ended");
});

test("a payment waits for the approver of its customer as described", async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const [agent = ""] = findBlocks(PAGE, "## Approvals", "ts");
  const cwd = await createProject({ "agents/triage.ts": agent });
  await symlink(join(root, "node_modules/zod"), join(cwd, "node_modules/zod"));
  const token = "an-admin-token-of-this-server";
  const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_TOKEN: token } });
  const [, address = ""] = await server.match(/http:\/\/(127\.0\.0\.1:\d+)/);
  const [script = ""] = findBlocks(PAGE, "## Approvals", "sh");
  const given = `export TROUPE_TOKEN=${token} TROUPE_URL=http://localhost:4100\n`;
  const output = await runBlock(own + given + script, address, cwd);
  expect(output).toContain("Pay 250 EUR back? (for finance)");
  expect(output).toContain("only finance may answer");
  expect(output).toContain("bolt sees nothing of acme");
  expect(output).toContain('"paid":true');
  expect(output.trimEnd().split("\n").at(-1)).toContain("fay");
});

test("a question of the page is answered from a link as described", async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const [agent = ""] = findBlocks(PAGE, "## Answer from a link", "ts");
  const cwd = await createProject({ "agents/refunds.ts": agent });
  await symlink(join(root, "node_modules/zod"), join(cwd, "node_modules/zod"));
  const token = "an-admin-token-of-this-server";
  const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_TOKEN: token } });
  const [, address = ""] = await server.match(/http:\/\/(127\.0\.0\.1:\d+)/);
  const [script = ""] = findBlocks(PAGE, "## Answer from a link", "sh");
  const given = `export TROUPE_TOKEN=${token} TROUPE_URL=http://localhost:4100\n`;
  const lines = (await runBlock(own + given + script, address, cwd)).trimEnd().split("\n").slice(-3);
  expect(lines).toEqual(["Refund 5 EUR?", "Your answer has arrived", "Bob has answered this question"]);
  await server.match(/to ann@example\.com: https:\/\/agents\.example\.com\/answer-links\/\S+/);
});

test.each(
  shortened(
    [
      ...findBlocks(PAGE, "## Accounts of your own", "ts"),
      ...findBlocks(PAGE, "## Tell other systems", "ts"),
    ],
    2,
  ),
)("a server starts with each configuration of the page (%#)", async (config) => {
  const cwd = await createProject({
    "agents/triage.ts": agentSaying("hello", "triage"),
    "troupe.config.ts": config,
  });
  const secret = `whsec_${"A".repeat(44)}`;
  const server = startCommand(["serve", "--port=0"], {
    cwd,
    env: { TROUPE_TOKEN: "a-token-of-this-test", HOOK_SECRET: secret, GITHUB_SECRET: secret },
  });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  expect((await fetch(`${url}/runs`)).status).toBe(401);
});
