// Serves agents that forward to the ticker at the address in TROUPE_REMOTE. Its log is in the directory given
// as its only argument.
import { createRuntime, defineAgent } from "troupe";
import { remoteAgent } from "troupe/client";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";

const [, , directory = "."] = process.argv;
const ticker = remoteAgent(process.env["TROUPE_REMOTE"] ?? "");
const boss = defineAgent({
  name: "boss",
  purpose: "Has the ticker count.",
  tools: [ticker],
  async chat(input, turn) {
    await turn.call(ticker, "chat", { input });
    await turn.text("counted");
  },
});
const runtime = createRuntime({ agents: [boss, ticker], log: sqliteLog(directory) });
await runtime.ready();
const { url } = await serve(runtime);
console.log(url);
