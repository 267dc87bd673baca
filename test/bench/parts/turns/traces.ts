import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { measurePacedTurns } from "../../harness/paced-load.ts";
import { atMost, ms, times } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import { ServerProcess } from "../../harness/server-process.ts";
import type { Setup } from "../../harness/setup.ts";
import { median, percentile } from "../../harness/statistics.ts";
import { paceMs, TURN_MS, warmUpPaced } from "./paced.ts";

const CLIENTS = 32;

/**
 * What the traces of turns at the pace of a model cost the server, which sends them to a collector as long as it serves. Both servers are
 * measured at the same time on the same core, so that what else the machine does changes both alike.
 */
export async function measureTraces({ isQuick, warmUpTurns }: Setup): Promise<Result[]> {
  await using stack = new AsyncDisposableStack();
  let bodies = 0;
  const collector = createServer((request, response) => {
    request.resume().on("end", () => {
      bodies += 1;
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
  stack.defer(() => {
    collector.closeAllConnections();
    collector.close();
  });
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const without = stack.use(await ServerProcess.start("durable", { paceMs }));
  const traced = stack.use(await ServerProcess.start("durable", { paceMs, environment: { COLLECTOR: url } }));
  for (const server of [without, traced]) await warmUpPaced({ server }, warmUpTurns);
  const ratios: number[] = [];
  const rounds = isQuick ? 5 : 15;
  for (let round = 1; round <= rounds; round += 1) {
    const load = { clients: CLIENTS, turnMs: TURN_MS, ms: 4 * TURN_MS };
    const measured = await Promise.all([without, traced].map((server) => measurePacedTurns(server, load)));
    await Promise.all(measured.map(({ drained }) => drained));
    const [base = 0, more = 0] = measured.map(({ sample }) => sample.cpuMs);
    ratios.push(more / base);
    console.log(`traces, round ${round}: ${ms(base)} without, ${ms(more)} with`);
  }
  const [low, high] = [percentile(ratios, 0.25), percentile(ratios, 0.75)];
  console.log(`traces: the middle half of the rounds has ${times(low)} to ${times(high)}`);
  if (bodies === 0) throw new Error("the collector got nothing");
  return [
    atMost(
      "CPU of a paced turn with traces, beside one without, durable log, 32 at a time",
      median(ratios),
      1.03,
      times,
    ),
  ];
}
