import type { Publication, TopicDetails, TopicSummary } from "../protocol/answers/topic.ts";
import type { Event, EventOf } from "../protocol/events/events.ts";
import type { RequestId } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import type { Messages } from "../runtime/agent/agent.ts";
import type { AnyMessages, Topic } from "../runtime/agent/topic.ts";
import type { GivenBody, MessageBody } from "../runtime/agent/turn-api.ts";
import type { Interruptible } from "./call-api.ts";
import type { ClientOptions } from "./client-api.ts";
import { eventsPath, Requests } from "./requests/requests.ts";
import type { Followed } from "./stream/followed.ts";
import { randomId } from "./wire/random-id.ts";

/** The topics of a server. A topic is given as its definition, which has the types of its messages, or by its name. */
export interface TopicClient {
  /** Lists them, page by page: those with a run, the one that was changed last first, then those that have none yet. */
  list(query?: TopicsQuery): Promise<TopicsPage>;

  /** A topic with its subscribers; `not_found` for one that is neither declared nor used. */
  get(name: string, options?: Interruptible): Promise<TopicDetails>;

  /** Publishes something; resolves with its id when it is in the log of the topic. A repeated `requestId` has no effect. */
  publish<Published extends Messages = AnyMessages, Name extends keyof Published & string = string>(
    to: Topic<Published> | string,
    name: Name,
    body: GivenBody<Published[Name]>,
    options?: Interruptible & { readonly requestId?: RequestId },
  ): Promise<RequestId>;

  /**
   * Follows what is published, in order and without gaps, over lost connections and restarts of the server, until the signal aborts
   * or the reader stops. It begins with what comes, or behind the publication `after`; `newest` gives the newest one of each
   * name first.
   */
  subscribe<
    Published extends Messages = AnyMessages,
    Name extends keyof Published & string = keyof Published & string,
  >(
    to: Topic<Published> | string,
    options?: SubscribeOptions<Name>,
  ): AsyncGenerator<PublicationOf<Published, Name>, void>;
}

/** What of a topic is followed, and from where on. */
export interface SubscribeOptions<Name extends string = string> extends Interruptible {
  /** Only what is published under these names. Default: everything. */
  readonly names?: readonly Name[];
  /** A publication that the reader has: those behind it follow. */
  readonly after?: Pick<Publication, "run_id" | "id">;
  /** Begins with the newest publication of each name. Default: as the topic retains them, if the server knows it. */
  readonly newest?: boolean;
}

/** A publication of a topic, with the type of its body. */
export type PublicationOf<Published extends Messages, Name extends keyof Published & string> = {
  readonly [Each in Name]: Omit<Publication, "name" | "body"> & {
    readonly name: Each;
    readonly body: MessageBody<Published[Each]>;
  };
}[Name];

/** Selects topics. */
export interface TopicsQuery extends Interruptible {
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

/** A part of a list of topics. */
export interface TopicsPage {
  readonly topics: readonly TopicSummary[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** Creates a client of the topics of a server, apart from `createClient`, because few pages need it. */
export function createTopicClient(url: string, options: ClientOptions = {}): TopicClient {
  const requests = new Requests(url, options);

  async function* subscribe(
    to: Topic<Messages> | string,
    { names, after, newest, signal }: SubscribeOptions = {},
  ): AsyncGenerator<Publication, void> {
    const isWanted = (name: string): boolean => names === undefined || names.includes(name);
    const name = nameOf(to);
    // It gets a run, if it has none, whose events can be followed.
    const opened = await requests.ask("POST", "/topics", { body: { name }, signal });
    const { run_id, newest: head, retain } = opened.json as TopicDetails;
    let place = after ?? { run_id: run_id ?? "", id: head };
    if (after === undefined && (newest ?? retain === 1)) {
      const { json } = await requests.ask("GET", `${pathOf(name)}/publications`, { signal });
      for (const each of json as readonly Publication[])
        if (each.id <= head && isWanted(each.name)) yield each;
    }
    for (;;) {
      const { run_id: runId, id } = place;
      let carried = 0;
      let next: string | undefined;
      const stream = requests.follow(eventsPath(runId), {
        query: { follow: true, types: "RunCreated,MessageReceived,Renewed" },
        after: id,
        signal,
        limits: { unreachableMs: Infinity },
      }) as AsyncGenerator<Followed<Event>, void>;
      for await (const followed of stream) {
        if (followed.type !== "events") continue;
        for (const event of followed.events) {
          if (event.type === "Renewed") next = event.to;
          else if (event.type === "RunCreated") carried = event.carried ?? 0;
          else if (event.type !== "MessageReceived") continue;
          // The first ones of a new run were in the one before.
          else if (carried > 0) carried -= 1;
          else if (isWanted(event.name)) yield toPublication(event);
        }
        if (next !== undefined) break;
      }
      if (next === undefined) return;
      // The topic goes on in a new run.
      place = { run_id: next, id: 0 };
    }
  }

  return {
    async list({ signal, ...query } = {}) {
      const { items: topics, ...page } = await requests.list<TopicSummary>("/topics", { query, signal });
      return { topics, ...page };
    },
    get: async (name, given) => (await requests.ask("GET", pathOf(name), given)).json as TopicDetails,
    async publish(to, name, body, { requestId = randomId("req_"), signal } = {}) {
      const published = { name, body: body as Json, request_id: requestId };
      await requests.ask("POST", `${pathOf(nameOf(to))}/publications`, { body: published, signal });
      return requestId;
    },
    subscribe: subscribe as TopicClient["subscribe"],
  };
}

function toPublication({ run_id, id, name, body, ts }: EventOf<"MessageReceived">): Publication {
  return { run_id, id, name, body, at: ts };
}

function nameOf(to: Topic<Messages> | string): string {
  return typeof to === "string" ? to : to.name;
}

function pathOf(name: string): string {
  return `/topics/${encodeURIComponent(name)}`;
}
