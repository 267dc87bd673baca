/** @module-tag long */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { Client, textOf } from "../../adapters/aip/peers/client.ts";
import { findFreeUrl } from "../../machine/free-port.ts";
import { agentSaying, createProject, startCommand } from "../command.ts";

const project = { "agents/speaker.ts": agentSaying("hello") };

test("--aip serves a gateway with the agents, and stops with a STOP_RESPONSE", async () => {
  const cwd = await createProject(project);
  const command = startCommand(["serve", "--port=0", "--aip=127.0.0.1:0"], { cwd });
  const [, address = ""] = await command.match(/^aip {11}(127\.0\.0\.1:\d+)$/m);
  using client = new Client(address);
  const session = client.session({ receiver_id: "speaker" });
  session.start("hi");
  expect(textOf(await session.next())).toContain("hello");
  command.kill("SIGTERM");
  expect(await session.next()).toMatchObject({ session_status: 4 });
  expect(await command.exited).toBe(0);
});

test("a server with --aip is not ready before its gateway listens", { tags: "long" }, async () => {
  const [http, grpc] = [new URL(await findFreeUrl()), new URL(await findFreeUrl())];
  const cwd = await createProject(project);
  startCommand(["serve", `--port=${http.port}`, `--aip=127.0.0.1:${grpc.port}`], { cwd });
  const statuses: number[] = [];
  while (statuses.at(-1) !== 200) {
    const status = await fetch(new URL("/readyz", http)).then(
      (response) => response.status,
      () => undefined,
    );
    if (status !== undefined) statuses.push(status);
    else await setTimeout(1);
  }
  const socket = connect(Number(grpc.port), "127.0.0.1");
  const isListening = once(socket, "connect").then(
    () => true,
    () => false,
  );
  expect(await isListening).toBe(true);
  socket.destroy();
});

test(
  "26 a question survives kill -9 of the server, and a new session answers it",
  { tags: "long" },
  async () => {
    const agent = `import { defineAgent } from "troupe";
export const asker = defineAgent({
  name: "asker",
  purpose: "Asks.",
  chat: async (_input, turn) => "Hello, " + (await turn.waitForInput({ name: "Who are you?" })).name,
});
`;
    const cwd = await createProject({ "agents/asker.ts": agent });
    const serve = async () => {
      const command = startCommand(["serve", "--port=0", "--aip=127.0.0.1:0"], { cwd });
      const [, address = ""] = await command.match(/^aip {11}(127\.0\.0\.1:\d+)$/m);
      return { command, client: new Client(address) };
    };
    const before = await serve();
    const asked = before.client.session({ receiver_id: "asker", session_id: "one" });
    asked.start("hi");
    expect(textOf(await asked.next())).toBe("Who are you?");
    before.command.kill("SIGKILL");
    expect(await asked.status).toMatchObject({ code: 14 });
    await before.command.exited;
    using after = (await serve()).client;
    before.client[Symbol.dispose]();
    const session = after.session({ receiver_id: "asker", session_id: "one" });
    session.start();
    expect(textOf(await session.next())).toBe("Who are you?");
    session.hold("Ada");
    expect(textOf(await session.next())).toBe("Hello, Ada");
  },
);

test(
  "--aip-join registers the agents of one server at the gateway of another",
  { tags: "long" },
  async () => {
    const far = startCommand(["serve", "--port=0", "--aip=127.0.0.1:0"], {
      cwd: await createProject({ "agents/other.ts": agentSaying("other", "other") }),
    });
    const [, address = ""] = await far.match(/^aip {11}(127\.0\.0\.1:\d+)$/m);
    const near = startCommand(["dev", "--port=0", `--aip-join=${address}`], {
      cwd: await createProject(project),
    });
    await near.match(/^aip-join {6}127\.0\.0\.1:\d+ \(speaker 127\.0\.0\.1:\d+\)$/m);
    using client = new Client(address);
    const session = client.session({ receiver_id: "speaker" });
    session.start("hi");
    session.stop();
    expect((await session.all()).map(textOf)[0]).toContain("hello");
  },
);

test.each([
  ["--aip=0.0.0.0:0", 78, "AIP has no tokens"],
  ["--aip=nowhere", 78, "must be HOST:PORT"],
  ["--aip-join=127.0.0.1:1", 69, "127.0.0.1:1"],
])("%s is refused", async (option, code, message) => {
  const command = startCommand(["serve", "--port=0", option], { cwd: await createProject(project) });
  expect(await command.exited).toBe(code);
  expect(command.output()).toContain(message);
});

test("--aip-insecure lets other machines use the gateway", { tags: "long" }, async () => {
  const args = ["serve", "--port=0", "--aip=0.0.0.0:0", "--aip-insecure"];
  const command = startCommand(args, { cwd: await createProject(project) });
  const [, port = ""] = await command.match(/^aip {11}\S+:(\d+)$/m);
  using client = new Client(`127.0.0.1:${port}`);
  expect(
    await client.call("Heartbeat", "HeartbeatRequest", "HeartbeatResponse", { sender_id: "me" }),
  ).toEqual({
    success: false,
    message: "Node me not registered",
  });
});
