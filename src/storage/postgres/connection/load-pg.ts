import type * as pg from "pg";
import { AgentError } from "../../../errors.ts";

/** The client library of PostgreSQL. */
export type Pg = Omit<typeof pg, "default">;

/** Loads the optional package; says what to install if it is missing. */
export async function loadPg(): Promise<Pg> {
  try {
    return (await import("pg")).default;
  } catch (cause) {
    throw new AgentError("unavailable", "a log on PostgreSQL needs the package pg, which is missing", {
      hint: "npm install pg@8",
      cause,
    });
  }
}
