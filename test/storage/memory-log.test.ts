import { memoryLog } from "../../src/storage/memory/log.ts";
import { testEventLog } from "../../src/testing/event-log/test-event-log.ts";

testEventLog({ name: "memory", open: async () => memoryLog() });
