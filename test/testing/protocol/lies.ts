import type { Asked, Fields, Lie } from "./lying-proxy.ts";

/** Faults of a server, and the cases that must detect them. */
export const lies: readonly (readonly [what: string, cases: readonly string[], make: () => Lie])[] = [
  ["wait is ignored", ["6", "6a"], () => ({ ask: without("query", "wait") })],
  ["runs are not continued", ["11", "19", "52"], () => ({ ask: without("body", "run_id") })],
  ["requests are not idempotent", ["13a", "14"], () => ({ ask: without("body", "request_id", isChat) })],
  [
    "refusals are internal errors",
    ["9", "12", "28", "39", "48"],
    () => ({ status: (status) => (status >= 400 ? 500 : status) }),
  ],
  [
    "conflicts are swallowed",
    ["14", "39", "52a"],
    () => ({ status: (status) => (status === 409 ? 200 : status) }),
  ],
  ["misfits are swallowed", ["9c", "37"], () => ({ status: (status) => (status === 422 ? 200 : status) })],
  [
    "an id is left out",
    ["19", "25"],
    () => ({ event: (event) => [{ ...event, id: Number(event["id"]) + (event["id"] === 1 ? 0 : 1) }] }),
  ],
  [
    "each end is said twice",
    ["17", "30", "51"],
    () => ({ event: (event) => (isEnd(event) ? [event, event] : [event]) }),
  ],
  ["ends are never said", ["17", "44", "51"], () => ({ event: (event) => (isEnd(event) ? [] : [event]) })],
  ["readers are left hanging", ["17", "35", "44"], () => ({ hangs: true })],
  ["frames have names", ["21"], () => ({ frame: (frame) => `event: message\n${frame}` })],
  [
    "streams say text instead of JSON",
    ["17", "29"],
    () => ({ frame: (frame) => frame.replace(/^data: .*$/m, "data: hello") }),
  ],
  ["streams may be kept", ["21"], () => ({ headers: (headers) => headers.delete("cache-control") })],
  ["two readers share the events", ["22", "23"], splitReaders],
  ["polls give everything again", ["24", "24a"], () => ({ ask: withSince })],
  ["long polls are internal errors", ["24c", "54"], () => ({ status: refuseLongPolls })],
  ["since is ignored", ["25", "25a"], () => ({ ask: without("query", "since") })],
  ["Last-Event-ID is ignored", ["26", "26c"], () => ({ ask: withoutLastEventId })],
  ["filters are ignored", ["25c", "25d"], () => ({ ask: withoutFilters })],
  ["levels are ignored", ["25f"], () => ({ ask: without("body", "logging_level") })],
  [
    "calls have no results",
    ["31", "33"],
    () => ({ event: (event) => (event["type"] === "ToolResult" ? [] : [event]) }),
  ],
  [
    "calls have two results",
    ["31", "33"],
    () => ({ event: (event) => (event["type"] === "ToolResult" ? [event, event] : [event]) }),
  ],
  ["failed calls show where", ["32"], () => ({ event: withStack })],
  ["children speak as the caller", ["33", "34"], () => ({ event: (event) => [{ ...event, depth: 0 }] })],
  [
    "waits do not reach the reader",
    ["35", "41"],
    () => ({ event: (event) => (event["type"] === "WaitForInput" ? [] : [event]) }),
  ],
  [
    "a waiting request looks busy",
    ["35", "37", "41"],
    () => ({ object: (object) => ("status" in object ? { ...object, status: "running" } : object) }),
  ],
  [
    "answers are not said",
    ["36", "38"],
    () => ({ event: (event) => (event["type"] === "ResumeWithInput" ? [] : [event]) }),
  ],
  [
    "any answer will do",
    ["37"],
    () => ({
      ask: (asked) =>
        asked.body?.["type"] === "ResumeWithInput"
          ? withBody(asked, { request_keys: { approved: true } })
          : asked,
    }),
  ],
  ["cancels are lost", ["44", "45", "46"], () => ({ ask: loseCancels })],
  [
    "cancels look like success",
    ["44", "45", "46", "51"],
    () => ({ event: succeeded, object: (object) => succeeded(object)[0] ?? object }),
  ],
  ["on_busy is ignored", ["52a", "52b"], () => ({ ask: without("body", "on_busy") })],
  ["artifacts are cut", ["56"], () => ({ bytes: (bytes) => bytes.subarray(0, 100) })],
];

function without(where: "query" | "body", name: string, applies: (asked: Asked) => boolean = () => true) {
  return (asked: Asked): Asked => {
    if (!applies(asked)) return asked;
    if (where === "body") {
      const { [name]: _, ...body } = asked.body ?? {};
      return asked.body === undefined ? asked : { ...asked, body };
    }
    return withQuery(asked, (query) => query.delete(name));
  };
}

function refuseLongPolls(status: number, { url }: Asked): number {
  return url.searchParams.get("timeout") === "60000" ? 500 : status;
}

function withQuery(asked: Asked, change: (query: URLSearchParams) => void): Asked {
  const url = new URL(asked.url);
  change(url.searchParams);
  return { ...asked, url };
}

function withBody(asked: Asked, fields: Fields): Asked {
  return { ...asked, body: { ...asked.body, ...fields } };
}

function isChat({ body }: Asked): boolean {
  return body?.["type"] === "ChatRequest";
}

function isEnd({ type }: Fields): boolean {
  return type === "RequestCompleted";
}

/** Delivers each event of a stream to one reader only, if there are several. */
function splitReaders(): Lie {
  const given = new Set<unknown>();
  return {
    event(event, { url }) {
      if (url.searchParams.get("stream") !== "true" || event["type"] !== "TextOutput") return [event];
      const key = `${String(event["request_id"])} ${String(event["id"])}`;
      if (given.has(key)) return [];
      given.add(key);
      return [event];
    },
  };
}

function withSince(asked: Asked): Asked {
  if (!asked.url.pathname.includes("/getevents/") || asked.url.searchParams.has("stream")) return asked;
  return withQuery(asked, (query) => query.set("since", query.get("since") ?? "0"));
}

function withoutLastEventId(asked: Asked): Asked {
  const headers = new Headers(asked.headers);
  headers.delete("last-event-id");
  return { ...asked, headers };
}

function withoutFilters(asked: Asked): Asked {
  return withQuery(asked, (query) => {
    for (const name of ["types", "max_depth", "agent"]) query.delete(name);
  });
}

function withStack(event: Fields): Fields[] {
  return [
    event["type"] === "ToolError"
      ? { ...event, content: "Error: no\n    at divide (file:///srv/a.js:1:2)" }
      : event,
  ];
}

function succeeded(event: Fields): Fields[] {
  return [event["finish_reason"] === "canceled" ? { ...event, finish_reason: "success" } : event];
}

/** Requests the state of the request instead of its cancel. */
function loseCancels(asked: Asked): Asked {
  if (asked.body?.["type"] !== "CancelRequest") return asked;
  const url = new URL(`/request/${String(asked.body["request_id"])}`, asked.url);
  return { ...asked, method: "GET", url, body: undefined };
}
