/** All addresses, put together; each area has its own file in routes/, and its screens are loaded when they are opened. */
import type { QueryClient } from "@tanstack/react-query";
import { createRouter } from "@tanstack/react-router";
import { parseAddress, writeAddress } from "@/shared/url/search";
import { PageFailed, PageLoading, PageMissing } from "./page_states";
import { aclRoutes } from "./routes/acl";
import { alertsRoutes } from "./routes/alerts";
import { auditRoutes } from "./routes/audit";
import { brokersRoutes } from "./routes/brokers";
import { clusterHomeRoutes, clusterMakingRoutes } from "./routes/clusters";
import { deadLettersRoutes } from "./routes/dead-letters";
import { documentsRoutes } from "./routes/documents";
import { fleetRoutes } from "./routes/fleet";
import { groupsRoutes } from "./routes/groups";
import { hostsRoutes } from "./routes/hosts";
import { clusterRoute, consoleRoute, rootRoute } from "./routes/layout";
import { messagesRoutes } from "./routes/messages";
import { operationRoutes, operationsRoutes } from "./routes/operations";
import { reportsRoutes } from "./routes/reports";
import { settingsRoutes } from "./routes/settings";
import { signInRoute } from "./routes/sign-in";
import { topicsRoutes } from "./routes/topics";

const tree = rootRoute.addChildren([
  signInRoute,
  consoleRoute.addChildren([
    ...fleetRoutes,
    ...clusterMakingRoutes,
    ...operationRoutes,
    ...hostsRoutes,
    ...auditRoutes,
    ...settingsRoutes,
    clusterRoute.addChildren([
      ...clusterHomeRoutes,
      ...brokersRoutes,
      ...topicsRoutes,
      ...groupsRoutes,
      ...messagesRoutes,
      ...deadLettersRoutes,
      ...aclRoutes,
      ...reportsRoutes,
      ...alertsRoutes,
      ...operationsRoutes,
      ...documentsRoutes,
    ]),
  ]),
]);

export function makeRouter(client: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { client },
    parseSearch: parseAddress,
    stringifySearch: writeAddress,
    defaultPreload: "intent",
    // Reads belong to TanStack Query: of them, loaders only begin early what a screen asks for first.
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    defaultPendingComponent: PageLoading,
    defaultErrorComponent: PageFailed,
    defaultNotFoundComponent: PageMissing,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
