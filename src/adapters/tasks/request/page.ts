import { unprocessable } from "../../../http/messages/wrong-field.ts";
import type { Issue } from "../../../protocol/schema/check-json.ts";
import type { Pagination } from "../objects.ts";

/** Which page of a list a client wants. */
export interface PageRequest {
  readonly number: number;
  readonly size: number;
  /** The number of items before it. */
  readonly offset: number;
}

const SIZE_DEFAULT = 10;
const SIZE_LIMIT = 1_000;

/** Parses the query of a list; `unprocessable` names every wrong field. */
export function parsePageRequest(query: URLSearchParams): PageRequest {
  const number = parseOrdinal(query, "current_page");
  const size = parseOrdinal(query, "page_size");
  const issues = [number, size].filter((parsed) => typeof parsed === "object");
  if (issues.length > 0) throw unprocessable(issues);
  return toPage((number as number | undefined) ?? 1, (size as number | undefined) ?? SIZE_DEFAULT);
}

/** The items of a list on a page. */
export function itemsOn<Item>({ offset, size }: PageRequest, items: readonly Item[]): readonly Item[] {
  return items.slice(offset, offset + size);
}

export function toPagination({ number, size }: PageRequest, total: number): Pagination {
  return {
    total_items: total,
    total_pages: Math.ceil(total / size),
    current_page: number,
    page_size: size,
  };
}

function toPage(number: number, asked: number): PageRequest {
  const size = Math.min(asked, SIZE_LIMIT);
  // No list has so many items, and the storage needs a number that it can represent.
  return { number, size, offset: Math.min((number - 1) * size, OFFSET_LIMIT) };
}

const OFFSET_LIMIT = 2 ** 40;

function parseOrdinal(query: URLSearchParams, path: string): number | Issue | undefined {
  const [text, ...others] = query.getAll(path);
  if (text === undefined) return undefined;
  if (others.length > 0) return { path, message: "may be given only once" };
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  return value > 0 ? value : { path, message: "must be a whole number from 1" };
}
