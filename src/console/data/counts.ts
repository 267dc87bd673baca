/** How many rows a list has: so many, or at least so many. */
export interface Count {
  readonly rows: number;
  readonly isOpen: boolean;
}

/** The number of the rows of a list: that of the server (`12`, or `10000+`), or of those that were read if it has not counted them. */
export function toCount(read: number, hasMore: boolean, total: string | undefined): Count {
  if (!hasMore || total === undefined) return { rows: read, isOpen: hasMore };
  return { rows: Number.parseInt(total, 10), isOpen: total.endsWith("+") };
}

/** The number of the rows of two lists. */
export function sumOf(one: Count, other: Count): Count {
  return { rows: one.rows + other.rows, isOpen: one.isOpen || other.isOpen };
}

/** `12`, or `10,000+`. */
export function countText({ rows, isOpen }: Count): string {
  return `${rows.toLocaleString()}${isOpen ? "+" : ""}`;
}
