/** Another process, or this one, has the data directory open; only one may at a time. */
export class DirectoryInUse extends Error {
  override readonly name = "DirectoryInUse";
}

/**
 * The log lacks something that it had acknowledged: part of it was lost or changed outside. It is not
 * opened then, unless its `acceptLoss` is set.
 */
export class DamagedLog extends Error {
  override readonly name = "DamagedLog";
}

/** What kind of trouble SQLite reports, as far as it matters here; `undefined` for what is no trouble of a database. */
export function toTrouble(error: unknown): Trouble | undefined {
  // A number that is too large for a number was written by nobody.
  if ((error as NodeJS.ErrnoException | null)?.code === "ERR_OUT_OF_RANGE") return "damaged";
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  // The low byte is the kind, the rest details it.
  switch (Number(error.errcode) & 0xff) {
    case 5:
      return "busy";
    case 3:
    case 8:
    case 14:
      return "inaccessible";
    // What is asked never changes, so that it makes no sense says that the tables are not ours any more.
    case 1:
    case 11:
    case 26:
      return "damaged";
    case 13:
      return "full";
    case 19:
      return "constraint";
    default:
      return "other";
  }
}

/** Kinds of trouble with a database file. */
export type Trouble = "busy" | "inaccessible" | "damaged" | "full" | "constraint" | "other";
