import { expect, test } from "vitest";
import { createProject, startProgram } from "../cli/command.ts";
import type { RunningCommand } from "../cli/command.ts";

/** Starts a program with two servers, each with an agent whose turn never ends; resolves with their addresses. */
async function startServers(options: string): Promise<{ program: RunningCommand; urls: readonly string[] }> {
  const code = `
    import { createRuntime, defineAgent } from "troupe";
    import { serve } from "troupe/node";
    process.on("SIGTERM", () => console.log("own handler"));
    const endless = defineAgent({ name: "endless", purpose: "Never ends.", chat: () => new Promise(() => {}) });
    for (const _ of [1, 2]) {
      const server = await serve(createRuntime({ agents: [endless] }), ${options});
      console.log("listens on " + server.url);
    }
  `;
  const cwd = await createProject({ "servers.ts": code });
  const program = startProgram(process.execPath, ["servers.ts"], { cwd });
  const [, first = "", second = ""] = await program.match(/listens on (\S+)\s+listens on (\S+)/);
  return { program, urls: [first, second] };
}

function stream(url: string): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(`${url}/endless/stream_request`, { method: "POST", headers, body: '{"input":""}' });
}

test("on a signal every server of a process ends its streams and its turns, then the process ends", async () => {
  const { program, urls } = await startServers("{ drain: { drainMs: 10 } }");
  const streams = await Promise.all(urls.map(stream));
  program.kill("SIGTERM");
  // A stream that is cut instead of ended rejects.
  for (const { body } of streams)
    await expect(new Response(body).text()).resolves.toContain("RequestStarted");
  expect(await program.exited).toBe(0);
});

test("a server that leaves signals to the program keeps serving", { tags: "long" }, async () => {
  const { program, urls } = await startServers("{ drain: false }");
  program.kill("SIGTERM");
  await program.match(/own handler/);
  for (const url of urls) expect((await fetch(url)).status).toBe(200);
});
