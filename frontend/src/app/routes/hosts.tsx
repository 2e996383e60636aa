/** /hosts */
import { createRoute } from "@tanstack/react-router";
import { hostsSearch } from "@/features/hosts/search";
import { Upcoming } from "../Upcoming";
import { consoleRoute } from "./layout";

const hostsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "hosts",
  validateSearch: hostsSearch,
  component: Upcoming,
});

export const hostsRoutes = [hostsRoute] as const;
