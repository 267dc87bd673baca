import { compare, middle, ratio, warmUp } from "../../harness/load.ts";
import type { Load, Wire } from "../../harness/load.ts";
import { toRequestText } from "../../harness/connection.ts";
import { atMost, ms, toTable } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import { ServerProcess } from "../../harness/server-process.ts";
import type { Setup } from "../../harness/setup.ts";

const AGENTSCOPE: Wire = {
  request: () =>
    toRequestText("POST", "/agentscope/bench/process", {
      input: [{ role: "user", type: "message", content: [{ type: "text", text: "hello world" }] }],
    }),
  end: '"object":"response","status":"completed"',
  texts: /"delta":true,"msg_id":"[^"]*","text":"hello world (\d+)"/g,
};

const message = { id: "1", role: "user", content: "hello world" };

const AG_UI: Wire = {
  request: () =>
    toRequestText("POST", "/ag-ui/bench", {
      threadId: crypto.randomUUID(),
      runId: crypto.randomUUID(),
      messages: [message],
    }),
  end: '"type":"RUN_FINISHED"',
  texts: /"type":"TEXT_MESSAGE_CONTENT","messageId":"[^"]*","delta":"hello world (\d+)"/g,
};

const A2A: Wire = {
  request: () =>
    toRequestText(
      "POST",
      "/a2a/bench",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "SendStreamingMessage",
        params: {
          message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "hello world" }] },
        },
      },
      { "a2a-version": "1.0" },
    ),
  end: '"state":"TASK_STATE_COMPLETED"',
  texts: /"parts":\[\{"text":"hello world (\d+)/g,
};

const MCP: Wire = {
  request: () =>
    toRequestText(
      "POST",
      "/mcp/bench",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "bench", arguments: { input: "hello world" }, _meta: { progressToken: 1 } },
      },
      { accept: "application/json, text/event-stream" },
    ),
  end: '"jsonrpc":"2.0","id":1}',
  // It reports texts that have gathered together, and says the whole text at the end.
  texts: /hello world (\d+)(?=[^"]*"\}\])/g,
  leastBytes: 1_500,
};

const OPENAI: Wire = {
  request: () =>
    toRequestText("POST", "/v1/chat/completions", { model: "bench", messages: [message], stream: true }),
  end: "data: [DONE]",
  texts: /"delta":\{"content":"hello world (\d+)"/g,
};

const UI: Wire = {
  request: () =>
    toRequestText("POST", "/ui/bench", {
      id: crypto.randomUUID(),
      messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "hello world" }] }],
    }),
  end: "data: [DONE]",
  texts: /"type":"text-delta","id":"[^"]*","delta":"hello world (\d+)"/g,
};

/** An editor gets the events from a program that is a client of the server. */
const ACP: Wire = {
  request: () => "hello world",
  end: '"stopReason":"end_turn"',
  texts: /hello world (\d+)/g,
  // Texts that have gathered are one update.
  leastBytes: 1_500,
};

const ROWS: readonly (readonly [label: string, wire: Wire | undefined])[] = [
  ["native", undefined],
  ["A2A", A2A],
  ["AG-UI", AG_UI],
  ["AgentScope", AGENTSCOPE],
  ["AI SDK UI", UI],
  ["MCP", MCP],
  ["OpenAI", OPENAI],
];

/** The cost of a turn of a hundred texts over each protocol, relative to the native one. */
export async function measureWires({ warmUpTurns, rounds, roundMs }: Setup): Promise<Result[]> {
  const serverOf = (): Promise<ServerProcess> =>
    ServerProcess.start("memory", { environment: { WIRES: "1" } });
  const servers = await Promise.all([...ROWS.map(serverOf), serverOf()]);
  const behind = servers.at(-1);
  if (behind === undefined) throw new Error("no server was started");
  const editors = await ServerProcess.start("editors", {
    environment: { SERVER_URL: `http://127.0.0.1:${behind.port}` },
  });
  const acp: Wire = { ...ACP, editorPort: editors.port };
  const rows: readonly (readonly [label: string, server: ServerProcess, wire: Wire | undefined])[] = [
    ...ROWS.map(([label, wire], index) => [label, servers[index] ?? behind, wire] as const),
    ["ACP, the server", behind, acp],
    ["ACP, the program", editors, acp],
  ];
  try {
    const loads = rows.map(([, server, wire]) => {
      const load: Load = { concurrency: 32, ms: roundMs, ...(wire && { wire }) };
      return { server, load };
    });
    await Promise.all(loads.map((loaded) => warmUp(loaded, warmUpTurns)));
    const samples = await compare(loads, rounds);
    const [native = [], ...others] = samples;
    const table = samples.map((own, index) => {
      const { cpuMs, turnsPerS, firstP50Ms } = middle(own);
      const relative = ratio(own, native, "cpuMs").toFixed(2);
      return [
        rows[index]?.[0] ?? "",
        `${cpuMs.toFixed(3)} ms`,
        relative,
        turnsPerS.toFixed(0),
        ms(firstP50Ms),
      ];
    });
    const head = ["protocol", "CPU a turn", "× native", "turns/s", "first frame p50"];
    console.log(`\nA turn of 100 texts, 32 at a time, memory log\n\n${toTable([head, ...table])}`);
    return others.map((own, index) => {
      const [label = ""] = rows[index + 1] ?? [];
      const relative = ratio(own, native, "cpuMs");
      return atMost(`CPU of a turn over ${label}, relative to the native protocol`, relative, 3);
    });
  } finally {
    await Promise.all([editors, ...servers].map((server) => server[Symbol.asyncDispose]()));
  }
}
