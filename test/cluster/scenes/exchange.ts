import type { NodeProcess } from "./cluster/node-process.ts";
import { follow, isEnd, post, read } from "./cluster/requests.ts";
import type { SceneCluster } from "./cluster/scene-cluster.ts";
import type { Scene } from "./scene.ts";

/** How nodes pass requests on to each other. */
export const exchange: readonly Scene[] = [
  {
    name: "POST on one node, follow on a second, resume on a third, list on all",
    async play(cluster, _random, turns) {
      const rounds = Array.from({ length: Math.max(3, turns / 10) }, (_, at) => handAround(cluster, at));
      return (await Promise.all(rounds)).flat();
    },
  },
  {
    name: "an id sent to three nodes at once",
    async play(cluster, _random, turns) {
      const ids = Array.from({ length: Math.max(10, turns) }, () => sendToAll(cluster));
      return (await Promise.all(ids)).flat();
    },
  },
];

async function handAround(cluster: SceneCluster, first: number): Promise<readonly string[]> {
  const { nodes } = cluster;
  const [a, b, c] = [0, 1, 2].map((more) => nodes[(first + more) % nodes.length]) as [
    NodeProcess,
    NodeProcess,
    NodeProcess,
  ];
  const requestId = cluster.newId();
  await post([a], "asker", { type: "ChatRequest", input: requestId, request_id: requestId });
  let last = 0;
  for (let isOver = false; !isOver;) {
    const events = await follow(
      [b],
      requestId,
      (event) => isEnd(event) || event.type === "WaitForInput",
      last,
    );
    last = events.at(-1)?.id ?? last;
    isOver = events.some(isEnd);
    for (const event of events) {
      if (event.type !== "WaitForInput") continue;
      await post([c], "asker", {
        type: "ResumeWithInput",
        request_id: requestId,
        wait_id: event.id,
        resume_id: `${requestId}-${event.id}`,
        request_keys: Object.fromEntries(Object.keys(event.request_keys).map((key) => [key, "yes"])),
      });
    }
  }
  const wrong: string[] = [];
  const [started] = await follow(nodes, requestId, () => true);
  const runId = started?.run_id ?? requestId;
  const shown = await Promise.all(nodes.map((node) => read([node], `/getevents/${requestId}?since=0`)));
  for (const [at, node] of nodes.entries()) {
    if (shown[at] !== shown[0]) wrong.push(`the nodes show ${requestId} differently`);
    if (!(await read([node], "/asker/runs?limit=1000")).includes(JSON.stringify(runId)))
      wrong.push(`a node does not list run ${runId} of ${requestId}`);
  }
  return wrong;
}

async function sendToAll(cluster: SceneCluster): Promise<readonly string[]> {
  const requestId = cluster.newId();
  const request = { type: "ChatRequest", input: requestId, request_id: requestId };
  const answers = await Promise.all(cluster.nodes.map((node) => post([node], "speaker", request)));
  await follow(cluster.nodes, requestId, isEnd);
  const isEqual = answers.every((answer) => answer === answers[0]);
  return isEqual ? [] : [`${requestId} has the answers ${answers.join(" ")}`];
}
