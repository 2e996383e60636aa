/** /clusters/$cluster/acl */
import { createRoute } from "@tanstack/react-router";
import { aclSearch } from "@/features/acl/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute } from "./layout";

const aclRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "acl",
  validateSearch: aclSearch,
  component: Upcoming,
});

export const aclRoutes = [aclRoute] as const;
