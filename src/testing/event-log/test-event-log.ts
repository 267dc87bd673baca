import { describe } from "vitest";
import { testAppending } from "./appending.ts";
import { testLifecycle } from "./lifecycle.ts";
import { testReading } from "./reading.ts";
import { testRequests } from "./requests.ts";
import { testRuns } from "./runs.ts";
import type { EventLogSubject } from "./subject.ts";

/**
 * Checks an engine against the guarantees of `EventLog`. Call it in a vitest file: `testEventLog({ name:
 * "memory", open: async () => memoryLog() })`.
 */
export function testEventLog(subject: EventLogSubject): void {
  describe(`the ${subject.name} log`, () => {
    testAppending(subject);
    testReading(subject);
    testRequests(subject);
    testRuns(subject);
    testLifecycle(subject);
  });
}
