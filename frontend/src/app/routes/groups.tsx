/** /clusters/$cluster/groups and one group of it. */
import { createRoute } from "@tanstack/react-router";
import { groupSearch, groupsSearch } from "@/features/groups/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute } from "./layout";

const groupsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "groups",
  validateSearch: groupsSearch,
  component: Upcoming,
});

const groupRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "groups/$group",
  validateSearch: groupSearch,
  component: Upcoming,
});

export const groupsRoutes = [groupsRoute, groupRoute] as const;
