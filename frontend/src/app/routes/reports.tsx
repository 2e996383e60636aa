/** /clusters/$cluster/reports and one run. */
import { createRoute } from "@tanstack/react-router";
import { reportSearch, reportsSearch } from "@/features/reports/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute } from "./layout";

const reportsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "reports",
  validateSearch: reportsSearch,
  component: Upcoming,
});

const reportRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "reports/$run",
  validateSearch: reportSearch,
  component: Upcoming,
});

export const reportsRoutes = [reportsRoute, reportRoute] as const;
