/** /clusters/$cluster/documents */
import { createRoute } from "@tanstack/react-router";
import { documentsSearch } from "@/features/documents/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute } from "./layout";

const documentsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "documents",
  validateSearch: documentsSearch,
  component: Upcoming,
});

export const documentsRoutes = [documentsRoute] as const;
