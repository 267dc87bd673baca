import type { MessageDescriptor } from "./descriptor.ts";
import type { RunId } from "../ids.ts";
import type { Json } from "../json.ts";

/** A subject that actors publish to and subscribe to. */
export interface TopicSummary {
  readonly name: string;
  /** Its run, whose events are what was published; absent without a publication and a subscriber. */
  readonly run_id?: RunId;
  /** Absent for `default`. */
  readonly owner?: string;
  /** What can be published; absent if that is anything. */
  readonly messages?: readonly MessageDescriptor[];
  /** 1 if a new subscriber gets the newest publication of each name; absent if the server does not know that of the topic. */
  readonly retain?: 0 | 1;
  /** When its run was changed, as ISO 8601, UTC. */
  readonly updated_at?: string;
}

/** A topic with those that it tells. */
export interface TopicDetails extends TopicSummary {
  /** The number of its subscribers. */
  readonly subscriber_count: number;
  /** The first 1,000 of them, in the order in which they have subscribed. */
  readonly subscribers: readonly TopicSubscriber[];
  /** The id of the newest event of its run: what is behind it comes later. 0 if there is none. */
  readonly newest: number;
}

/** An actor that is told what is published. */
export interface TopicSubscriber {
  readonly agent: string;
  readonly key?: string;
  readonly run_id: RunId;
  /** The names of the publications that it takes. */
  readonly names: readonly string[];
}

/** Something that was published. */
export interface Publication {
  /** The run and the id of its event: the position in the topic. */
  readonly run_id: RunId;
  readonly id: number;
  readonly name: string;
  readonly body: Json;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** What is published to a topic. */
export interface PublicationRequest {
  readonly name: string;
  /** Default `null`. */
  readonly body?: Json;
  /** Makes it idempotent; if absent, the server chooses one. */
  readonly request_id?: string;
}
