"use client";
import { useMemo, useSyncExternalStore } from "react";
import type { OpenWait } from "../client/call-api.ts";
import type { Client } from "../client/client-api.ts";
import { createRunList, createWaitList } from "../client/store/live-list.ts";
import type { ListState, LiveList, RunListQuery, WaitListQuery } from "../client/store/live-list.ts";
import type { RunSummary } from "../protocol/answers/status.ts";

/** A list as a component shows it. */
export type ShownList<Item> = ListState<Item> & Pick<LiveList<Item>, "more">;

/**
 * The runs of a server, most recently updated first, kept current while the component is mounted. The client must be the same
 * object in every render.
 */
export function useRuns(
  client: Pick<Client, "runs" | "watchRuns">,
  query: RunListQuery = {},
): ShownList<RunSummary> {
  const key = JSON.stringify(query);
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- `key` stands for the query.
  return useLiveList(useMemo(() => createRunList(client, query), [client, key]));
}

/**
 * The open questions of all runs, oldest first, kept current while the component is mounted; each is answered with its `answer`. The
 * client must be the same object in every render.
 */
export function useWaits(
  client: Pick<Client, "waits" | "watchRuns">,
  query: WaitListQuery = {},
): ShownList<OpenWait> {
  const key = JSON.stringify(query);
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- `key` stands for the query.
  return useLiveList(useMemo(() => createWaitList(client, query), [client, key]));
}

function useLiveList<Item>(list: LiveList<Item>): ShownList<Item> {
  const { subscribe, more } = list;
  const getState = (): ListState<Item> => list.state;
  return { ...useSyncExternalStore(subscribe, getState, getState), more };
}
