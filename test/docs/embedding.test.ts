import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { defaultLimits } from "../../src/runtime/limits.ts";
import { chat, createProject, startProgram } from "../cli/command.ts";
import { findFreePort } from "../machine/free-port.ts";
import { findBlocks, root } from "./blocks.ts";
import { shortened } from "../machine/long.ts";

test.each(shortened(["Hono", "Express", "Fastify"], 1))(
  "the agents are served beside the routes of %s",
  async (framework) => {
    const [code = ""] = findBlocks("docs/guide/embedding.md", `## In ${framework}`, "ts");
    const port = await findFreePort();
    const cwd = await createProject({ "server.ts": code.replaceAll("4100", String(port)) });
    for (const name of ["@hono", "express", "fastify", "hono"]) {
      await symlink(join(root, "node_modules", name), join(cwd, "node_modules", name));
    }
    const program = startProgram(process.execPath, ["server.ts"], { cwd });
    const [url] = await program.match(/http:\/\/\S+/);
    expect(await (await fetch(new URL("/", url))).text()).toBe("my own page");
    expect((await chat(url, "echo", { input: "to be" })).result).toBe("to be");
    const listed = await fetch(url, { headers: { accept: "application/json" } });
    expect(await listed.json()).toEqual([{ name: "echo", path: "/agents/echo" }]);
  },
);

test("the route of Next.js answers web requests", { tags: "long" }, async () => {
  const [code = ""] = findBlocks("docs/guide/embedding.md", "## In Next.js", "ts");
  const call = `import { POST } from "./route.ts";
    const body = JSON.stringify({ type: "ChatRequest", input: "to be" });
    const headers = { "content-type": "application/json" };
    const url = "http://localhost/agents/echo/process?wait=completed";
    console.log(await (await POST(new Request(url, { method: "POST", body, headers }))).text());
    process.exit(0);`;
  const cwd = await createProject({ "route.ts": code, "call.ts": call });
  await symlink(join(root, "node_modules/hono"), join(cwd, "node_modules/hono"));
  const { stdout } = await promisify(execFile)(process.execPath, ["call.ts"], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ type: "RequestCompleted", result: "to be" });
});

test("the guide lists every limit with its default", () => {
  const text = readFileSync(join(root, "docs/guide/embedding.md"), "utf8");
  const rows = [...text.matchAll(/^\| `(\w+)` +\| ([\d,]+) +\| /gm)].map(
    ([, name = "", value = ""]) => [name, Number(value.replaceAll(",", ""))] as const,
  );
  expect(Object.fromEntries(rows)).toEqual(defaultLimits);
});
