/** / : all clusters. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { fleetSearch } from "@/features/fleet/search";
import { consoleRoute } from "./layout";

const fleetRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/",
  validateSearch: fleetSearch,
  component: lazyRouteComponent(() => import("@/features/fleet/FleetScreen"), "FleetScreen"),
});

export const fleetRoutes = [fleetRoute] as const;
