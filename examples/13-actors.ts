// Actors: agents with a key, which ask and tell each other exactly once. The server stops in the middle of an ask, and
// the answer comes from the next one.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "troupe";
import type { Runtime } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { member, room } from "../agents/room.ts";

const directory = mkdtempSync(join(tmpdir(), "troupe-"));
const start = (): Runtime => createRuntime({ agents: [room, member], log: sqliteLog(directory) });
let runtime = start();
try {
  for (const key of ["ada", "bob", "eve"]) await runtime.actor(member, key).ask("enter", { room: "red" });
  await runtime.actor(member, "ada").ask("speak", { room: "red", text: "Good morning" });
  assert.deepEqual(await runtime.actor(member, "eve").ask("heard", {}), ["ada: Good morning"]);

  // Ada asks the room to say something in a second; before that the server stops.
  const asked = { room: "red", text: "Still here", afterMs: 1_000 };
  await runtime.actor(member, "ada").tell("speak", asked, { requestId: "still-here" });
  await runtime.close();
  runtime = start();
  const lines = await runtime.actor(member, "ada").ask("speak", asked, { requestId: "still-here" });
  assert.equal(lines, 2);
  assert.deepEqual(await runtime.actor(member, "bob").ask("heard", {}), [
    "ada: Good morning",
    "ada: Still here",
  ]);

  // Two members who ask each other at once would wait for each other: one ask fails, and the other is answered.
  const answers = await Promise.all([
    runtime.actor(member, "bob").ask("greet", { to: "eve" }),
    runtime.actor(member, "eve").ask("greet", { to: "bob" }),
  ]);
  console.log(answers);
  assert.equal(answers.filter((answer) => answer === "We greeted each other.").length, 1);
} finally {
  await runtime.close();
  rmSync(directory, { recursive: true });
}
