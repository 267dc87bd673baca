import { typeOf } from "../../protocol/events/encode.ts";
import type { EventOf } from "../../protocol/events/events.ts";
import type { Scope } from "../access/scope.ts";
import { mayAnswer } from "../agent/approvers.ts";
import type { Feed, PushedPage } from "../feeds.ts";
import { toFeed } from "./to-feed.ts";

/** What a caller sees of an encoded event. */
export type Show = (text: string) => string;

/** What a caller sees of events; `undefined` if it is everything. */
export function shownTo(scope: Scope): Show | undefined {
  const { by, roles = [] } = scope;
  if (by === undefined || roles.includes("admin")) return undefined;
  return (text) => {
    if (typeOf(text) !== "WaitForInput" || !text.includes(APPROVERS)) return text;
    const { schema: _, ...event } = JSON.parse(text) as EventOf<"WaitForInput">;
    if (mayAnswer(event.approvers, scope)) return text;
    // The order of the fields stays, which readers of encoded events rely on.
    const question = event.question ?? Object.values(event.request_keys).join("\n");
    return JSON.stringify({ ...event, request_keys: {}, question });
  };
}

const APPROVERS = '"approvers":';

/** A stream as a caller sees it. */
export function showFeed(feed: Feed, show: Show | undefined): Feed {
  if (show === undefined) return feed;
  return toFeed(
    (sink) =>
      feed.read({
        page: (page) => sink.page(showPage(page, show)),
        end: (error) => sink.end(error),
      }),
    feed.finished,
  );
}

/** Questions are rare, so most pages are passed on as they are. */
function showPage(page: PushedPage, show: Show): PushedPage {
  const isAsking = page.events.some((item) => typeof item === "string" && show(item) !== item);
  if (!isAsking) return page;
  return { ...page, events: page.events.map((item) => (typeof item === "string" ? show(item) : item)) };
}
