/** /clusters/$cluster/reports and one run. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { reportSearch, reportsSearch } from "@/features/reports/search";
import { clusterRoute } from "./layout";

const reportsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "reports",
  validateSearch: reportsSearch,
  component: lazyRouteComponent(() => import("@/features/reports/ReportsScreen"), "ReportsScreen"),
});

const reportRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "reports/$run",
  validateSearch: reportSearch,
  component: lazyRouteComponent(() => import("@/features/reports/RunScreen"), "RunScreen"),
});

export const reportsRoutes = [reportsRoute, reportRoute] as const;
