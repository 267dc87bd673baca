import type { Result } from "../../harness/result.ts";
import type { Setup } from "../../harness/setup.ts";
import { measureExchanges } from "./exchanges.ts";
import { measureManyAsks } from "./many-asks.ts";
import { measureParked } from "./parked.ts";
import { measureTransitions } from "./transitions.ts";

/** The cost of actors: what they send each other, and what it takes when they wait for each other. */
export async function measureActors(setup: Setup): Promise<Result[]> {
  return [
    ...(await measureExchanges(setup)),
    ...(await measureTransitions(setup)),
    await measureManyAsks(),
    ...measureParked(setup),
  ];
}
