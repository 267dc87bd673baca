"use client";
import { useMemo, useSyncExternalStore } from "react";
import type { Client } from "../client/client-api.ts";
import type { Connection } from "../client/store/run-store.ts";
import { createRunStore } from "../client/store/run-store.ts";
import type { RunView } from "../view/run-view.ts";
import type { AgentError } from "../errors.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";

/** A run as a component shows it. */
export interface FollowedRun {
  readonly view: RunView;
  readonly connection: Connection;
  /** Why reading ended, or why the connection is lost. */
  readonly error: AgentError | undefined;
}

/**
 * Follows a run or a request while the component is mounted. The client must be the same object in every render, so
 * create it outside of components.
 */
export function useRun(client: Pick<Client, "run">, id: RunId | RequestId): FollowedRun {
  const store = useMemo(() => createRunStore(client, id), [client, id]);
  const { subscribe } = store;
  const getView = (): RunView => store.view;
  const getConnection = (): Connection => store.connection;
  const getError = (): AgentError | undefined => store.error;
  return {
    view: useSyncExternalStore(subscribe, getView, getView),
    connection: useSyncExternalStore(subscribe, getConnection, getConnection),
    error: useSyncExternalStore(subscribe, getError, getError),
  };
}
