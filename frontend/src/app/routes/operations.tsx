/** /clusters/$cluster/operations, and /operations/$id for one of any cluster. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { operationSearch, operationsSearch } from "@/features/operations/search";
import { clusterRoute, consoleRoute } from "./layout";

const operationsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "operations",
  validateSearch: operationsSearch,
  component: lazyRouteComponent(() => import("@/features/operations/OperationsScreen"), "OperationsScreen"),
});

const operationRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "operations/$id",
  validateSearch: operationSearch,
  component: lazyRouteComponent(() => import("@/features/operations/OperationScreen"), "OperationScreen"),
});

export const operationsRoutes = [operationsRoute] as const;
export const operationRoutes = [operationRoute] as const;
