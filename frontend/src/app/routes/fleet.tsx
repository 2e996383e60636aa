/** / : all clusters. */
import { createRoute } from "@tanstack/react-router";
import { fleetSearch } from "@/features/fleet/search";
import { Upcoming } from "../Upcoming";
import { consoleRoute } from "./layout";

const fleetRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/",
  validateSearch: fleetSearch,
  component: Upcoming,
});

export const fleetRoutes = [fleetRoute] as const;
