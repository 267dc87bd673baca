import { join } from "node:path";
import { fsSecrets } from "../../src/storage/fs/secrets.ts";
import { memorySecrets } from "../../src/storage/memory/secrets.ts";
import { testSecretStore } from "../../src/testing/stores/secret-store.ts";
import { temporaryDirectory } from "./directories.ts";

testSecretStore({ name: "memory", open: async () => memorySecrets() });
testSecretStore({ name: "a file", open: async () => fsSecrets(join(temporaryDirectory(), "secrets.json")) });
