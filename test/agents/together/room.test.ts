import { createRuntime } from "troupe";
import { expect, onTestFinished, test } from "vitest";
import { member, room } from "../../../agents/room.ts";

test("members hear what another one says in their room, and not what they say themselves", async () => {
  const runtime = createRuntime({ agents: [room, member] });
  onTestFinished(() => runtime.close());
  const [ada, bob, eve] = ["ada", "bob", "eve"].map((key) => runtime.actor(member, key));
  expect(await ada?.ask("enter", { room: "red" })).toBe(1);
  expect(await bob?.ask("enter", { room: "red" })).toBe(2);
  expect(await eve?.ask("enter", { room: "blue" })).toBe(1);
  expect(await ada?.ask("speak", { room: "red", text: "hello" })).toBe(1);
  expect(await bob?.ask("heard", {})).toEqual(["ada: hello"]);
  expect(await ada?.ask("heard", {})).toEqual([]);
  expect(await eve?.ask("heard", {})).toEqual([]);
  expect(await runtime.actor(room, "red").ask("lines", {})).toEqual([{ from: "ada", text: "hello" }]);
});
