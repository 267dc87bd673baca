import { describe } from "vitest";
import { testRunOwners } from "./cases/runs/run-owners.ts";
import { testStatistics } from "./cases/statistics.ts";
import { testStatisticSums } from "./cases/statistic-sums.ts";
import { testBases } from "./cases/runs/bases.ts";
import { testAliases } from "./cases/runs/aliases.ts";
import { testAudit } from "./cases/audit.ts";
import { testAppending } from "./cases/appending.ts";
import { testFollowing } from "./cases/following.ts";
import { testIdleRemoval } from "./cases/runs/idle-removal.ts";
import { testInventory } from "./cases/inventory.ts";
import { testLifecycle } from "./cases/lifecycle.ts";
import { testOpenRequests } from "./cases/requests/open-requests.ts";
import { testOutbox } from "./cases/requests/outbox.ts";
import { testSchedules } from "./cases/requests/schedules.ts";
import { testReading } from "./cases/reading.ts";
import { testRemoval } from "./cases/runs/removal.ts";
import { testRequestList } from "./cases/requests/request-list.ts";
import { testRequests } from "./cases/requests/requests.ts";
import { testRunList } from "./cases/runs/run-list.ts";
import { testRunSearch } from "./cases/runs/run-search.ts";
import { testRuns } from "./cases/runs/runs.ts";
import { testTexts } from "./cases/texts.ts";
import { testWaits } from "./cases/requests/waits.ts";
import { testOwners } from "./nodes/owners.ts";
import { testSharing } from "./nodes/sharing.ts";
import type { EventLogSubject } from "./subject.ts";

/**
 * Checks an engine against the guarantees of `EventLog`. Call it in a vitest file: `testEventLog({ name:
 * "memory", open: async () => memoryLog() })`.
 */
export function testEventLog(subject: EventLogSubject): void {
  describe(`the ${subject.name} log`, () => {
    testAppending(subject);
    testReading(subject);
    testTexts(subject);
    testFollowing(subject);
    testRequests(subject);
    testRequestList(subject);
    testOpenRequests(subject);
    testWaits(subject);
    testOutbox(subject);
    testSchedules(subject);
    testAliases(subject);
    testAudit(subject);
    testRunOwners(subject);
    testStatistics(subject);
    testStatisticSums(subject);
    testRuns(subject);
    testRunList(subject);
    testRunSearch(subject);
    testRemoval(subject);
    testIdleRemoval(subject);
    testBases(subject);
    testInventory(subject);
    testLifecycle(subject);
    testSharing(subject);
    testOwners(subject);
  });
}
