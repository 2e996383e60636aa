/** /clusters/$cluster/alerts */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { alertsSearch } from "@/features/alerts/search";
import { clusterRoute } from "./layout";

const alertsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "alerts",
  validateSearch: alertsSearch,
  component: lazyRouteComponent(() => import("@/features/alerts/AlertsScreen"), "AlertsScreen"),
});

export const alertsRoutes = [alertsRoute] as const;
