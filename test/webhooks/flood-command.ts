// Sends 10,000 messages to a receiver that fails half of the time, while it and the server are killed.
// `npm run test:webhooks -- --runs 1000 --turns 10 --kills 3`.
import { parseArgs } from "node:util";
import { flood } from "./flood.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1000" },
    turns: { type: "string", default: "10" },
    kills: { type: "string", default: "3" },
  },
});
const [runs, turns, kills] = [Number(values.runs), Number(values.turns), Number(values.kills)];
const { messages, taken, attempts, disordered, ledAway, ms } = await flood({
  runs,
  turns,
  kills,
  failures: 8,
  awayMs: 3_000,
});
console.log(
  `${messages} of ${runs * turns} messages have arrived, ${taken - messages} of them once more, after ${attempts} attempts and over ` +
    `${kills} kills; ${disordered.length} runs have a wrong order, ${ledAway} attempts were led away; ${(ms / 1_000).toFixed(1)} s`,
);
if (messages !== runs * turns || disordered.length > 0 || ledAway > 0) process.exitCode = 1;
