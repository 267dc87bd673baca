/** @module-tag long */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { RawClient } from "../raw-client.ts";
import { chat } from "../server.ts";

/** A server in its own process. */
class ServerProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  /** Its error output. */
  log = "";

  constructor() {
    const execArgv = ["--conditions=troupe-source", "--disable-warning=ExperimentalWarning"];
    this.child = fork(SERVER, { execArgv, stdio: ["ignore", "ignore", "pipe", "ipc"] });
    this.child.stderr?.on("data", (text) => {
      this.log += String(text);
    });
    this.ended = once(this.child, "close").then(([code]) => code as number | null);
  }

  async url(): Promise<string> {
    const [url] = (await once(this.child, "message")) as [string];
    return url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
  }
}

const SERVER = fileURLToPath(new URL("supervised-server.ts", import.meta.url));

test.each(["timer", "microtask", "rejection"])(
  "an asynchronous error of a turn ends only that turn (%s)",
  async (kind) => {
    await using server = new ServerProcess();
    const url = await server.url();
    const other = await chat(`${url}/ticker/process?wait=true`, { input: "2 600000" });
    const end = await chat(`${url}/careless/process`, { input: kind, wait: "completed" });
    expect(end).toMatchObject({
      type: "RequestCompleted",
      finish_reason: "error",
      error: { code: "agent_crashed" },
    });
    expect(JSON.stringify(end)).not.toContain("ada");
    const status = await fetch(`${url}/request/${String(other["request_id"])}`);
    expect(await status.json()).toMatchObject({ status: "running" });
    expect(server.log).toContain(`code of request ${String(end["request_id"])} failed outside any call`);
  },
);

test("an error that belongs to no turn ends the process with a message", async () => {
  await using server = new ServerProcess();
  await server.url();
  server.child.send("throw");
  expect(await server.ended).toBe(70);
  expect(server.log).toContain("uncaught error");
});

test.each(["SIGTERM", "SIGINT"] as const)("%s stops the server properly", async (signal) => {
  await using server = new ServerProcess();
  const url = await server.url();
  const { run_id } = await chat(`${url}/echo/process?wait=completed`, { input: "hello" });
  await using reader = new RawClient(url);
  reader.send(`GET /getevents/${String(run_id)}?stream=true&follow=true HTTP/1.1`, "Host: localhost");
  await reader.until('"RequestCompleted"');
  server.child.kill(signal);
  await reader.closed();
  expect(reader.text).toMatch(/retry: 1000\n\n\r\n0\r\n\r\n$/);
  expect(await server.ended).toBe(0);
});

test("a second signal ends a server that waits for a turn at once", async () => {
  await using server = new ServerProcess();
  const url = await server.url();
  await chat(`${url}/careless/process?wait=true`, { input: "never ends" });
  await using reader = new RawClient(url);
  reader.send("GET / HTTP/1.1", "Host: localhost");
  await reader.until("echo");
  server.child.kill("SIGTERM");
  await reader.closed();
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(130);
});
