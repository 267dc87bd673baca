// Serves an AIP gateway, and reports the CPU time of its process when its parent asks.
import { createRuntime, defineAgent, operation } from "troupe";
import { createAipGateway } from "troupe/adapters/aip";
import * as z from "zod";

const bench = defineAgent({
  name: "bench",
  purpose: "Answers at once.",
  chat: (input) => input,
  operations: {
    add: operation({
      input: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => ({ sum: a + b }),
    }),
  },
});
const gateway = createAipGateway(createRuntime({ agents: [bench] }));
await gateway.start();
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMs: (user + system) / 1_000 });
});
process.on("disconnect", () => process.exit());
process.send?.({ address: gateway.address });
