// One of several nodes on one PostgreSQL, as a process: node-child.ts OPTIONS_JSON. It prints its address as a line of JSON.
import { clusterRouter, createRuntime, defineAgent, operation } from "troupe";
import { httpTransport, nodeEnvironment, serve } from "troupe/node";
import { postgresLog } from "troupe/postgres";
import { z } from "zod";
import { findFreeUrl } from "../../machine/free-port.ts";

const { url, schema } = JSON.parse(process.argv[2] ?? "") as {
  readonly url: string;
  readonly schema: string;
};

const shop = defineAgent({
  name: "shop",
  purpose: "Sells after its customer has confirmed the price.",
  operations: {
    buy: operation({
      description: "Sells something.",
      input: z.string(),
      run: async (thing, turn) => {
        const { price } = await turn.waitForInput({ price: `How much for ${thing}?` });
        await turn.sleep(200);
        return { thing, price };
      },
    }),
    count: operation({
      description: "Says many texts.",
      input: z.number(),
      run: async (texts, turn) => {
        for (let text = 1; text <= texts; text += 1) {
          await turn.sleep(20);
          await turn.text(`${text} `);
        }
        return texts;
      },
    }),
  },
  chat: (input) => input,
});

const environment = nodeEnvironment();
const log = await postgresLog({ url, schema, max: 3 });
const transport = httpTransport({ url: await findFreeUrl(), secret: "shared" });
const runtime = createRuntime({
  agents: [shop],
  log,
  router: clusterRouter({ log, transport, environment }),
  environment,
});
await runtime.ready();
const server = await serve(runtime, { drain: { drainMs: 0 } });
console.log(JSON.stringify({ url: server.url, node: log.node }));
