/** /clusters/$cluster/dead-letters and those of one group. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { deadLetterGroupSearch, deadLettersSearch } from "@/features/dead-letters/search";
import { clusterRoute } from "./layout";

const deadLettersRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "dead-letters",
  validateSearch: deadLettersSearch,
  component: lazyRouteComponent(
    () => import("@/features/dead-letters/DeadLettersScreen"),
    "DeadLettersScreen",
  ),
});

const deadLetterGroupRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "dead-letters/$group",
  validateSearch: deadLetterGroupSearch,
  component: lazyRouteComponent(() => import("@/features/dead-letters/DeadLetterScreen"), "DeadLetterScreen"),
});

export const deadLettersRoutes = [deadLettersRoute, deadLetterGroupRoute] as const;
