/** /clusters/$cluster/brokers and one broker of it. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { brokerSearch, brokersSearch } from "@/features/brokers/search";
import { clusterRoute } from "./layout";

const brokersRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "brokers",
  validateSearch: brokersSearch,
  component: lazyRouteComponent(() => import("@/features/brokers/BrokersScreen"), "BrokersScreen"),
});

const brokerRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "brokers/$broker",
  validateSearch: brokerSearch,
  component: lazyRouteComponent(() => import("@/features/brokers/BrokerScreen"), "BrokerScreen"),
});

export const brokersRoutes = [brokersRoute, brokerRoute] as const;
