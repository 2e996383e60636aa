/** /clusters/$cluster/operations, and /operations/$id for one of any cluster. */
import { createRoute } from "@tanstack/react-router";
import { operationSearch, operationsSearch } from "@/features/operations/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute, consoleRoute } from "./layout";

const operationsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "operations",
  validateSearch: operationsSearch,
  component: Upcoming,
});

const operationRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "operations/$id",
  validateSearch: operationSearch,
  component: Upcoming,
});

export const operationsRoutes = [operationsRoute] as const;
export const operationRoutes = [operationRoute] as const;
