import { setTimeout } from "node:timers/promises";
import { inspectPostgres } from "../../../src/storage/postgres/inspect.ts";
import type { NodeProcess } from "./cluster/node-process.ts";
import { follow, isEnd, post, read, send } from "./cluster/requests.ts";
import type { Scene } from "./scene.ts";

/** An asynchronous standby that lacks the newest events takes the place of the server. */
export const lostEvents: Scene = {
  name: "an asynchronous standby is promoted, with events lost",
  losesEvents: true,
  async play(cluster) {
    const { engine, nodes } = cluster;
    const [a, b] = nodes as readonly [NodeProcess, NodeProcess];
    await engine.addStandby({ isSynchronous: false });
    const { warnings } = await inspectPostgres({ url: engine.url, schema: cluster.schema });
    const wrong = warnings.some((warning) => warning.includes("asynchronous"))
      ? []
      : ["the doctor warns of nothing"];
    await Promise.all(nodes.map((node) => warned([node], "a standby is asynchronous")));

    // A turn that waits, whose answer the standby lacks, and one that the standby lacks altogether.
    const kept = cluster.newId();
    await post([a], "asker", { type: "ChatRequest", input: kept, request_id: kept });
    const before = await follow([a], kept, (event) => event.type === "WaitForInput");
    await engine.standbyHasAll();
    await engine.cutStandby();
    const answer = { type: "ResumeWithInput", request_id: kept, request_keys: { one: "yes" } };
    await post([a], "asker", answer);
    const last = before.at(-1)?.id ?? 0;
    const runId = before[0]?.run_id ?? "";
    const lost = (await follow([a], kept, (event) => event.type === "WaitForInput", last)).at(-1)?.id ?? 0;
    const gone = cluster.newId();
    await post([a], "speaker", { type: "ChatRequest", input: gone, request_id: gone });
    await follow([a], gone, isEnd);
    const streams = await Promise.all([a, b].map((node) => openStream(node, runId, lost)));
    await engine.failOver();

    // The node that wrote the events knows that they are lost, and readers of both nodes get no others in their place.
    await warned([a], "acknowledged events are lost");
    for (const stream of streams) wrong.push(...(await stream.ended));
    for (const node of nodes) {
      const resumed = await send([node], `/events/${runId}?stream=true`, {
        headers: { "last-event-id": String(lost) },
      });
      if (resumed.status !== 409 || !resumed.text.includes("the log has lost events"))
        wrong.push(`a reader of lost events was answered by ${resumed.status} ${resumed.text}`);
      const events = JSON.parse(await read([node], `/events/${runId}`)) as readonly object[];
      if (events.length !== last) wrong.push(`a node shows ${events.length} of ${last} events`);
      const missing = await send([node], `/request/${gone}`);
      if (missing.status !== 404) wrong.push(`a lost request is shown: ${missing.text}`);
    }
    // The run continues from there.
    await post([b], "asker", answer);
    await follow(nodes, kept, (event) => event.type === "WaitForInput" && event.id > last, last);
    await post([b], "asker", { type: "CancelRequest", request_id: kept });
    await follow(nodes, kept, isEnd, last);
    await post([a], "speaker", { type: "ChatRequest", input: gone, request_id: gone });
    await follow(nodes, gone, isEnd);
    return wrong;
  },
};

/** Waits until nodes that are ready warn of something. */
async function warned(nodes: readonly NodeProcess[], text: string): Promise<void> {
  while (!(await send(nodes, "/readyz")).text.includes(text)) await setTimeout(100);
}

/** Opens a stream of a run after an event; it must end without another one. */
async function openStream(
  { url }: NodeProcess,
  runId: string,
  after: number,
): Promise<{ readonly ended: Promise<readonly string[]> }> {
  const response = await fetch(`${url}/events/${runId}?stream=true&follow=true`, {
    headers: { "last-event-id": String(after) },
  });
  const text = response.text().catch(() => "");
  return {
    ended: text.then((sent) =>
      sent.includes("data:") ? [`a reader got ${sent} in place of lost events`] : [],
    ),
  };
}
