export { testEventLog } from "./event-log/test-event-log.ts";
export type { EventLogSubject } from "./event-log/subject.ts";
export { testArtifactStore } from "./stores/artifact-store.ts";
export type { ArtifactStoreSubject } from "./stores/artifact-store.ts";
export { testSecretStore } from "./stores/secret-store.ts";
export type { SecretStoreSubject } from "./stores/secret-store.ts";
export { testProtocol } from "./protocol/register.ts";
export type { TestProtocolOptions } from "./protocol/register.ts";
