/** /clusters/$cluster/dead-letters and those of one group. */
import { createRoute } from "@tanstack/react-router";
import { deadLetterGroupSearch, deadLettersSearch } from "@/features/dead-letters/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute } from "./layout";

const deadLettersRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "dead-letters",
  validateSearch: deadLettersSearch,
  component: Upcoming,
});

const deadLetterGroupRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "dead-letters/$group",
  validateSearch: deadLetterGroupSearch,
  component: Upcoming,
});

export const deadLettersRoutes = [deadLettersRoute, deadLetterGroupRoute] as const;
