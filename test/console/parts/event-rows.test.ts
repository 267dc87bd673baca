import { expect, test } from "vitest";
import type { Event } from "troupe/protocol";
import { gistOf } from "../../../src/console/events/event-rows.ts";

test.each(["toString", "__proto__", "hasOwnProperty", "SomethingNew"])(
  "an event of the unknown type %s has no text of its own",
  (type) => {
    expect(gistOf({ id: 1, type } as unknown as Event)).toBe("");
  },
);
