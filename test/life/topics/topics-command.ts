import { parseArgs } from "node:util";
import { publishUnderKills } from "./topics.ts";

/**
 * Tells 10,000 subscribers of a topic 100 publications while the server is killed twice. Run it with `npm run test:topics`, or
 * with fewer: `npm run test:topics -- --subscribers 1000 --publications 10`.
 */
const { values } = parseArgs({
  options: {
    subscribers: { type: "string", default: "10000" },
    publications: { type: "string", default: "100" },
  },
});
const told = await publishUnderKills(Number(values.subscribers), Number(values.publications));
console.log(
  `${told.right} of ${told.subscribers} subscribers have got ${values.publications} publications once and in order, ` +
    `over ${told.kills} kills, in ${(told.ms / 1_000).toFixed(1)} s`,
);
if (told.right !== told.subscribers || told.kills !== 2) process.exitCode = 1;
