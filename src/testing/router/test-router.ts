import { describe } from "vitest";
import { testDelivery } from "./cases/delivery.ts";
import { testMembers } from "./cases/members.ts";
import { testOwnership } from "./cases/ownership.ts";
import type { RouterSubject } from "./subject.ts";

/**
 * Checks a router against the guarantees of `Router`. Call it in a vitest file: `testRouter({ name: "local", open: async
 * () => ({ router: localRouter() }) })`.
 */
export function testRouter(subject: RouterSubject): void {
  describe(`the ${subject.name} router`, () => {
    testDelivery(subject);
    testOwnership(subject);
    testMembers(subject);
  });
}
