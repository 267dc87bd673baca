import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { chat, createProject, startCommand } from "./command.ts";

const AGENT = `import { defineAgent } from "troupe";
export const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });
`;

test("a collector that takes no spans is named, and not the server", async () => {
  const collector = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(400).end());
  });
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
  onTestFinished(() => void collector.close());
  const address = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const cwd = await createProject({ "agents/echo.ts": AGENT });
  const server = startCommand(["serve", "--port=0"], { cwd });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  await chat(url, "echo", { input: "hello" });

  const args = ["traces", "export", "--since=2020-01-01", `--otlp=${address}`];
  const exporting = startCommand(args, { cwd, env: { TROUPE_URL: url } });
  expect(await exporting.exited).toBe(69);
  expect(exporting.output()).toContain(`the collector ${address} has not taken the spans`);
  expect(exporting.output()).not.toContain("no server answers");
});
