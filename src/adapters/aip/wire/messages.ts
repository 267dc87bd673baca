/** The kinds of content that an agent accepts or produces. */
export const MODE = { text: 0, image: 1, audio: 2, embedded: 3 } as const;

/** What a message means for its session. */
export const SESSION = {
  startQuest: 0,
  holdQuest: 1,
  holdResponse: 2,
  stopQuest: 3,
  stopResponse: 4,
} as const;

/** The state of the task that a message belongs to. */
export const TASK = { create: 0, executing: 1, waiting: 2, broken: 3, finished: 4 } as const;

/** What happened to a node. */
export const UPDATE = { added: 0, updated: 1, removed: 2 } as const;

export type UpdateType = (typeof UPDATE)[keyof typeof UPDATE];

/** One part of a message. A received item names its kind in `data`; one of an unknown kind has none. */
export interface ContentItem {
  readonly data?: "text" | "image" | "audio" | "embedded";
  readonly text?: string;
  readonly image?: Uint8Array;
  readonly audio?: Uint8Array;
  readonly embedded?: Uint8Array;
}

export interface AgentSkill {
  readonly skill_id: string;
  readonly capability: string;
}

export interface AgentInfo {
  readonly agent_id: string;
  readonly address: string;
  readonly name: string;
  readonly domain: string;
  readonly input_mode: readonly number[];
  readonly output_mode: readonly number[];
  readonly description: string;
  readonly skills: readonly AgentSkill[];
  readonly version: string;
}

export interface ToolInfo {
  readonly name: string;
  readonly description: string;
  readonly arguments: string;
  readonly version: string;
}

export interface ToolBoxInfo {
  readonly toolbox_id: string;
  readonly address: string;
  readonly name: string;
  readonly domain: string;
  readonly description: string;
  readonly tools: readonly ToolInfo[];
}

/** A node of a gateway: an agent or a toolbox. */
export interface Peer {
  readonly agent_info?: AgentInfo | null;
  readonly toolbox_info?: ToolBoxInfo | null;
}

export interface TaskInfo {
  readonly task_id: string;
  readonly parent_task_ids?: readonly string[];
  readonly task_status: number;
}

export interface AgentMessage {
  readonly sender_id: string;
  readonly receiver_id: string;
  readonly session_id: string;
  readonly session_status: number;
  readonly task_info?: TaskInfo | null;
  readonly message_id: string;
  readonly reply_to_message_id: string;
  readonly content: readonly ContentItem[];
}

export interface ToolRequest {
  readonly sender_id: string;
  readonly receiver_id: string;
  readonly session_id: string;
  readonly tool_name: string;
  readonly arguments: string;
}

export interface ToolResponse {
  readonly sender_id: string;
  readonly receiver_id: string;
  readonly session_id: string;
  readonly is_error: boolean;
  readonly error_message: string;
  readonly content: readonly ContentItem[];
}

export interface NodeUpdate {
  readonly update_type: number;
  readonly node_id: string;
  readonly peer?: Peer | null;
}

/** Every message of the schema by its name there. */
export interface MessageTypes {
  readonly AgentInfo: AgentInfo;
  readonly ToolBoxInfo: ToolBoxInfo;
  readonly AgentMessage: AgentMessage;
  readonly ToolRequest: ToolRequest;
  readonly ToolResponse: ToolResponse;
  readonly RegisterAgentResponse: { readonly success: boolean; readonly peers: readonly Peer[] };
  readonly RegisterToolResponse: { readonly success: boolean };
  readonly DeregisterNodeRequest: { readonly node_id: string };
  readonly DeregisterNodeResponse: { readonly success: boolean };
  readonly GetNodesRequest: { readonly agent_id: string; readonly domain: string };
  readonly GetNodesResponse: { readonly peers: readonly Peer[] };
  readonly HeartbeatRequest: { readonly sender_id: string };
  readonly HeartbeatResponse: { readonly success: boolean; readonly message: string };
  readonly UpdateNodeInfoRequest: { readonly node_info?: Peer | null };
  readonly UpdateNodeInfoResponse: { readonly success: boolean; readonly message: string };
  readonly UpdateSubscriptionRequest: {
    readonly subscriber_id: string;
    readonly node_ids: readonly string[];
  };
  readonly NodeUpdate: NodeUpdate;
  readonly UnsubscribeRequest: { readonly subscriber_id: string; readonly node_ids: readonly string[] };
  readonly UnsubscribeResponse: { readonly success: boolean; readonly message: string };
}

export type MessageName = keyof MessageTypes;
