import { localRouter } from "../../src/cluster/local-router.ts";
import { testRouter } from "../../src/testing/router/test-router.ts";

testRouter({ name: "local", open: async () => ({ router: localRouter() }) });
