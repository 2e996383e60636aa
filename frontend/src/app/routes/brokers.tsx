/** /clusters/$cluster/brokers and one broker of it. */
import { createRoute } from "@tanstack/react-router";
import { brokerSearch, brokersSearch } from "@/features/brokers/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute } from "./layout";

const brokersRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "brokers",
  validateSearch: brokersSearch,
  component: Upcoming,
});

const brokerRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "brokers/$broker",
  validateSearch: brokerSearch,
  component: Upcoming,
});

export const brokersRoutes = [brokersRoute, brokerRoute] as const;
