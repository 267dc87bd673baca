import { setTimeout } from "node:timers/promises";
import type { Random } from "../../../src/testing/event-log/random.ts";
import type { NodeProcess } from "./cluster/node-process.ts";
import { follow, isEnd, post, read, send, toPost } from "./cluster/requests.ts";
import type { SceneCluster } from "./cluster/scene-cluster.ts";
import type { Scene } from "./scene.ts";

/** What a node is in the middle of when it is killed. The client sends what got no answer to another node. */
export const halfway: Scene = {
  name: "sleeper, outbox, upload, fork and removal, the node killed in the middle",
  async play(cluster, random) {
    const victim = cluster.anyNode;
    const others = cluster.nodes.filter((node) => node !== victim);
    const source = await speak(cluster, victim);
    const removable = await Promise.all([1, 2, 3, 4].map(() => speak(cluster, victim)));
    const asleep = cluster.clients.turnsOn(victim, "dreamer", 2);
    const sending = ["visitor", "planner", "talker"].map((agent) =>
      cluster.clients.turnsOn(victim, agent, 3),
    );
    await asleep.begun;
    await setTimeout(random.below(200));
    const wrong = await Promise.all([
      upload(cluster, victim, others),
      fork(victim, others, source),
      ...removable.map((runId) => remove(victim, others, runId, random)),
      setTimeout(random.below(60)).then(async () => {
        await victim.kill();
        return [];
      }),
    ]);
    await Promise.all([asleep, ...sending].map(({ ended }) => ended));
    return wrong.flat();
  },
};

/** Has a run made on a node, and returns its id. */
async function speak(cluster: SceneCluster, node: NodeProcess): Promise<string> {
  const requestId = cluster.newId();
  await post([node], "speaker", { type: "ChatRequest", input: requestId, request_id: requestId });
  const [event] = await follow([node], requestId, isEnd);
  return event?.run_id ?? "";
}

/** A file whose bytes are sent in two halves. What was answered with 201 is whole on each node. */
async function upload(
  cluster: SceneCluster,
  victim: NodeProcess,
  others: readonly NodeProcess[],
): Promise<readonly string[]> {
  const half = cluster.newId().repeat(20_000);
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(half));
      await Promise.race([victim.exited, setTimeout(2_000)]);
      controller.enqueue(new TextEncoder().encode(half));
      controller.close();
    },
  });
  const init = { method: "POST", headers: { "content-type": "text/plain" } };
  const first = await fetch(`${victim.url}/artifacts?name=file`, { ...init, body, duplex: "half" }).catch(
    () => undefined,
  );
  const { text } =
    first?.ok === true
      ? { text: await first.text() }
      : await send(others, "/artifacts?name=file", { ...init, body: half + half });
  const { artifact_id: artifactId } = JSON.parse(text) as { readonly artifact_id: string };
  const bytes = await Promise.all(others.map((node) => read([node], `/artifacts/${artifactId}`)));
  return bytes.every((found) => found === half + half)
    ? []
    : [`file ${artifactId} is not whole on each node`];
}

/** What was answered with 201 has the history of the run, and a fork without an answer is whole or not there. */
async function fork(
  victim: NodeProcess,
  others: readonly NodeProcess[],
  source: string,
): Promise<readonly string[]> {
  const nodes = [victim, ...others];
  const history = JSON.parse(await read(others, `/events/${source}`)) as readonly object[];
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => send(nodes, `/runs/${source}/fork`, toPost({ after: history.length }))),
  );
  const wrong = answers.flatMap(({ status, text }) =>
    status === 201 ? [] : [`a fork was answered by ${text}`],
  );
  const rows = JSON.parse(await read(others, "/runs?agent=speaker&limit=1000")) as readonly Row[];
  const forks = rows.filter(({ forked_from: from }) => from?.run_id === source).map((row) => row.run_id);
  for (const { text } of answers) {
    const { run_id: runId } = JSON.parse(text) as { readonly run_id: string };
    if (!forks.includes(runId)) wrong.push(`fork ${runId} was answered and is not listed`);
  }
  for (const runId of forks) {
    for (const node of others) {
      const events = JSON.parse(await read([node], `/events/${runId}`)) as readonly object[];
      if (events.length !== history.length)
        wrong.push(`fork ${runId} has ${events.length} of ${history.length} events`);
    }
    // The requests of a fork are those of its source, and the checks of the log expect each in one run.
    await send(others, `/runs/${runId}`, { method: "DELETE" });
  }
  return wrong;
}

interface Row {
  readonly run_id: string;
  readonly forked_from?: { readonly run_id: string };
}

/** A run whose removal was answered is gone on each node. */
async function remove(
  victim: NodeProcess,
  others: readonly NodeProcess[],
  runId: string,
  random: Random,
): Promise<readonly string[]> {
  await setTimeout(random.below(60));
  const { status, text } = await send([victim, ...others], `/runs/${runId}`, { method: "DELETE" });
  if (![204, 410].includes(status)) return [`the removal of ${runId} was answered by ${status} ${text}`];
  const shown = await Promise.all(others.map((node) => send([node], `/events/${runId}`)));
  return shown.every((answer) => answer.status === 410) ? [] : [`run ${runId} was removed and is shown`];
}
