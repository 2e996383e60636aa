/** /clusters/$cluster/topics and one topic of it. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { topicSearch, topicsQuery, topicsSearch } from "@/features/topics/search";
import { read } from "@/shared/api/queries";
import { clusterRoute } from "./layout";

const topicsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "topics",
  validateSearch: topicsSearch,
  // Asked for while the screen is loaded and drawn, not after it.
  loaderDeps: ({ search }) => search,
  loader: ({ context, params, deps }) => {
    void context.client.prefetchQuery(
      read("/clusters/{cluster}/topics/", { params, query: topicsQuery(topicsSearch.full(deps)) }),
    );
  },
  component: lazyRouteComponent(() => import("@/features/topics/TopicsScreen"), "TopicsScreen"),
});

const topicRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "topics/$topic",
  validateSearch: topicSearch,
  component: lazyRouteComponent(() => import("@/features/topics/TopicScreen"), "TopicScreen"),
});

export const topicsRoutes = [topicsRoute, topicRoute] as const;
