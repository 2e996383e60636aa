/** /clusters/$cluster/alerts */
import { createRoute } from "@tanstack/react-router";
import { alertsSearch } from "@/features/alerts/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute } from "./layout";

const alertsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "alerts",
  validateSearch: alertsSearch,
  component: Upcoming,
});

export const alertsRoutes = [alertsRoute] as const;
