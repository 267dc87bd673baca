import { AgentError, isInstance } from "../../errors.ts";
import type { RunChange } from "../../client/client-api.ts";
import { followRuns } from "../../client/lists/watch-runs.ts";
import { Requests } from "../../client/requests/requests.ts";
import { createRunClient } from "../../client/run-client.ts";
import { createRunStore } from "../../client/store/run-store.ts";
import type { RunStore } from "../../client/store/run-store.ts";
import { pause } from "../../shared/clock.ts";
import type { Ask, WireReply, Wire } from "../../client/wire/wire.ts";

/** The server that the page comes from. */
export interface PageServer {
  /** The address of the server, without a slash at its end. */
  readonly url: string;
  readonly token: string | undefined;
  /** Sends a request below the server's address; throws an AgentError. */
  ask(method: string, path: string, ask?: Ask): Promise<WireReply>;
  /** For requests whose answer is not JSON. */
  readonly wire: Wire;
  /** Follows a run or a request; connected while the store has a subscriber. */
  follow(id: string): RunStore;
  /** Follows the list of runs until the returned function is called. All watchers share one connection. */
  watch(watcher: Watcher): () => void;
}

/** Gets the rows that have changed, or nothing when there is a new connection and others may have changed too. */
export type Watcher = (rows?: readonly RunChange[]) => void;

/** Whether requests reach the server, as the last of them found out. */
export interface Reach {
  /** Since when no request has reached the server; absent while they do. */
  readonly lostSince?: number;
  /** Set when the server refuses a request because it lacks the token, or has a wrong one. */
  readonly needsToken?: "missing" | "wrong";
}

/** Creates the access to the server. `onReach` is called after each request whose outcome differs. */
export function createPageServer(
  url: string,
  token: string | undefined,
  onReach: (reach: Reach) => void,
): PageServer {
  // Not the whole client: the page sends its requests itself, and its first load is to be small.
  const requests = new Requests(url, { ...(token !== undefined && { token }) });
  const { wire } = requests;
  const watchers = new Set<Watcher>();
  let lostSince: number | undefined;
  let watching: AbortController | undefined;
  /**
   * The end of the first request: why it was refused for its token, if it was. The others wait for it, and none is sent after one
   * was refused, so a wrong token is sent once.
   */
  let first: Promise<AgentError | undefined> | undefined;

  return {
    url: wire.url,
    token,
    wire,
    follow: (id) => createRunStore({ run: (run) => createRunClient(requests, run) }, id),
    async ask(method, path, ask) {
      if (first !== undefined) {
        await checkToken();
        return send(method, path, ask);
      }
      const sent = send(method, path, ask);
      first = sent.then(() => undefined, toRefusal);
      return sent;
    },
    watch(watcher) {
      watchers.add(watcher);
      if (watching === undefined) {
        watching = new AbortController();
        void followAll(watching.signal);
      }
      return () => {
        watchers.delete(watcher);
        if (watchers.size > 0) return;
        watching?.abort();
        watching = undefined;
      };
    },
  };

  async function send(...[method, path, ask]: Parameters<PageServer["ask"]>): Promise<WireReply> {
    try {
      const reply = await wire.ask(method, path, ask);
      noteReached();
      return reply;
    } catch (thrown) {
      noteFailed(thrown);
      throw thrown;
    }
  }

  /** Throws if the first request was refused for its token. */
  async function checkToken(): Promise<void> {
    const refusal = await first;
    if (refusal !== undefined) throw refusal;
  }

  async function followAll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await checkToken();
        for await (const followed of followRuns(wire, { signal })) {
          if (followed.type === "lost") noteFailed(followed.error);
          if (followed.type === "live") {
            noteReached();
            tell();
          }
          if (followed.type === "events") tell(followed.events);
        }
      } catch (thrown) {
        if (!signal.aborted) noteFailed(thrown);
      }
      // A refusal can end, for example that of a proxy; the lists would stay as they are.
      await pause(wire.clock, REFUSED_MS, signal).catch(() => {});
    }
  }

  function tell(rows?: readonly RunChange[]): void {
    for (const watcher of watchers) watcher(rows);
  }

  function noteReached(): void {
    if (lostSince !== undefined) onReach({});
    lostSince = undefined;
  }

  function noteFailed(thrown: unknown): void {
    if (!isInstance(thrown, AgentError)) return;
    if (thrown.code === "unauthorized") {
      first = Promise.resolve(thrown);
      onReach({ needsToken: token === undefined ? "missing" : "wrong" });
    }
    if (isUnreachable(thrown) && lostSince === undefined) {
      lostSince = Date.now();
      onReach({ lostSince });
    }
  }
}

/** The error of a request whose token was refused. */
function toRefusal(thrown: unknown): AgentError | undefined {
  return isInstance(thrown, AgentError) && thrown.code === "unauthorized" ? thrown : undefined;
}

const REFUSED_MS = 5_000;

/** Whether an error says that the server did not answer at all. */
function isUnreachable(error: AgentError): boolean {
  return error.code === "unavailable" && error.cause !== undefined;
}
