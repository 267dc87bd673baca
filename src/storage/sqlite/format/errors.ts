/** The data directory is open in another process or in this one; only one may open it. */
export class DirectoryInUse extends Error {
  override readonly name = "DirectoryInUse";
}

/**
 * The log lacks data that it had acknowledged: part of it was lost or changed from outside. It is not opened,
 * unless `acceptLoss` is set.
 */
export class DamagedLog extends Error {
  override readonly name = "DamagedLog";
}

/** The kind of an SQLite error, as far as it matters here; `undefined` for other errors. */
export function toTrouble(error: unknown): Trouble | undefined {
  // An integer out of range was not written by us.
  if ((error as NodeJS.ErrnoException | null)?.code === "ERR_OUT_OF_RANGE") return "damaged";
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  // The low byte is the primary error code; the other bits are details.
  switch (Number(error.errcode) & 0xff) {
    case 5:
      return "busy";
    case 3:
    case 8:
    case 14:
      return "inaccessible";
    // Our SQL is fixed, so an SQL error means that the tables are damaged.
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

export type Trouble = "busy" | "inaccessible" | "damaged" | "full" | "constraint" | "other";
