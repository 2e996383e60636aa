/** /clusters/$cluster/topics and one topic of it. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { topicSearch, topicsSearch } from "@/features/topics/search";
import { clusterRoute } from "./layout";

const topicsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "topics",
  validateSearch: topicsSearch,
  component: lazyRouteComponent(() => import("@/features/topics/TopicsScreen"), "TopicsScreen"),
});

const topicRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "topics/$topic",
  validateSearch: topicSearch,
  component: lazyRouteComponent(() => import("@/features/topics/TopicScreen"), "TopicScreen"),
});

export const topicsRoutes = [topicsRoute, topicRoute] as const;
