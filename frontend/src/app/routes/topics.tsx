/** /clusters/$cluster/topics and one topic of it. */
import { createRoute } from "@tanstack/react-router";
import { topicSearch, topicsSearch } from "@/features/topics/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute } from "./layout";

const topicsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "topics",
  validateSearch: topicsSearch,
  component: Upcoming,
});

const topicRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "topics/$topic",
  validateSearch: topicSearch,
  component: Upcoming,
});

export const topicsRoutes = [topicsRoute, topicRoute] as const;
