import { expect, test } from "vitest";
import { createProject, startCommand } from "../cli/command.ts";
import { findFreeUrl } from "../machine/free-port.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { newDatabase } from "../storage/postgres/databases.ts";

needsPostgres();

const AGENT = `import { defineAgent } from "troupe";
export const quick = defineAgent({ name: "quick", purpose: "Answers.", chat: () => "done" });
`;

test(
  "a node of several that is told to stop is not ready, still answers, and asks for new connections",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/quick.ts": AGENT });
    const env = { TROUPE_LOG: await newDatabase(), TROUPE_CLUSTER_SECRET: "a secret of all nodes" };
    const start = async (data: string) => {
      const args = [
        "serve",
        "--port",
        "0",
        "--data",
        data,
        "--drain-seconds",
        "600",
        "--cluster",
        await findFreeUrl(),
      ];
      const node = startCommand(args, { cwd, env });
      const [url = ""] = await node.match(/http:\/\/127\.0\.0\.1:\d+/);
      await node.match(/wires/);
      return { node, url };
    };
    const [leaving] = await Promise.all([start("one"), start("two")]);
    const post = (): Promise<Response> =>
      fetch(`${leaving.url}/quick/process?wait=completed`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"type":"ChatRequest","input":""}',
      });
    expect((await post()).headers.get("connection")).toBe("keep-alive");
    leaving.node.kill("SIGTERM");
    const readiness = async (): Promise<string> => (await fetch(`${leaving.url}/readyz`)).text();
    await expect.poll(readiness).toContain('"detail":"the server is stopping"');
    const answer = await post();
    expect(answer.headers.get("connection")).toBe("close");
    expect(await answer.json()).toMatchObject({ type: "RequestCompleted", result: "done" });
    leaving.node.kill("SIGTERM");
    expect(await leaving.node.exited).toBe(130);
  },
);

test("a time to drain above ten minutes is refused", async () => {
  const refused = startCommand(["serve", "--drain-seconds", "601"], { cwd: await createProject({}) });
  expect(await refused.exited).toBe(2);
  expect(refused.output()).toContain("from 0 to 600");
});
