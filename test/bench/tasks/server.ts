// Serves two agents over the classic Agent Protocol on a durable log, and reports its memory to its parent.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineAgent } from "troupe";
import { tasks } from "troupe/adapters/tasks";
import { serve } from "troupe/node";
import { fsArtifacts } from "troupe/storage/fs";
import { sqliteLog } from "troupe/storage/sqlite";

const directory = mkdtempSync(join(tmpdir(), "troupe-bench-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));

const quick = defineAgent({ name: "quick", purpose: "Answers at once.", chat: (input) => input });

const talker = defineAgent({
  name: "talker",
  purpose: "Says as many texts as its input asks for.",
  async chat(input, turn) {
    for (let index = 1; index <= Number(input); index += 1) {
      const said = turn.text(`text ${index} `);
      if (index % 500 === 0) await said;
    }
  },
});

const runtime = createRuntime({
  agents: [quick, talker],
  log: sqliteLog(directory, { durability: "relaxed" }),
  artifacts: fsArtifacts(join(directory, "artifacts")),
});
await runtime.ready();
const { url } = await serve(runtime, { adapters: [tasks()], drain: false });

let peak = 0;
let before = 0;
const look = (): void => void (peak = Math.max(peak, process.memoryUsage.rss()));

process.on("message", (message) => {
  if (message === "begin") {
    before = process.memoryUsage.rss();
    peak = before;
    setInterval(look, 2).unref();
    process.send?.({ url });
  } else {
    look();
    process.send?.({ bytes: peak - before });
  }
});
process.on("disconnect", () => process.exit());
process.send?.({ url });
